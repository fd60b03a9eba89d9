"""Environments of their own for what the project does not depend on, made once and kept."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyspark

DEFAULT_CACHE = Path("~/.cache/penstock-bench")
FLINK = "2.3.0"
MATPLOTLIB = "3.11.2"
PARQUET = f"org.apache.flink:flink-sql-parquet:{FLINK}"
INSTALL_SECONDS = 1_800
HEAP = "4g"  # as the driver of the two Spark systems


@dataclass(frozen=True, slots=True)
class FlinkHome:
    """Where Flink is, and the format in which it can read: Parquet where its jar could be had."""

    python: Path
    form: str
    version: str = FLINK

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of its process; Flink's Parquet needs Hadoop, which Spark has."""
        jars = Path(pyspark.__file__).parent / "jars"
        hadoop = os.pathsep.join(map(str, sorted(jars.glob("hadoop-client-*.jar"))))
        return {"HADOOP_CLASSPATH": hadoop, "JVM_ARGS": f"-Xmx{HEAP}"}


def flink_home(cache: Path) -> FlinkHome:
    """Return Flink's environment, made where there is none."""
    python = environment(cache / f"flink-{FLINK}", f"apache-flink=={FLINK}")
    library = next(python.parents[1].glob("lib/python*/site-packages/pyflink/lib"))
    has_parquet = any(library.glob("flink-sql-parquet-*.jar")) or _fetch_parquet(library)
    return FlinkHome(python, "parquet" if has_parquet else "csv")


def plotting(cache: Path) -> Path:
    """Return a Python that can plot."""
    return environment(cache / f"matplotlib-{MATPLOTLIB}", f"matplotlib=={MATPLOTLIB}")


def environment(directory: Path, *packages: str) -> Path:
    """Return the Python of a virtual environment with these packages."""
    python, made = directory / "bin/python", directory / ".made"
    if not made.exists():
        print(f"making {directory.name} (once) …", flush=True)
        shutil.rmtree(directory, ignore_errors=True)
        _call(sys.executable, "-m", "venv", str(directory))
        _call(str(python), "-m", "pip", "install", "--quiet", *packages)
        made.touch()
    return python


def _fetch_parquet(library: Path) -> bool:
    """Say whether Maven could put the jar of Flink's Parquet format beside the others."""
    if (maven := shutil.which("mvn")) is None:
        return False
    try:
        _call(
            maven,
            *("--quiet", "--batch-mode", "org.apache.maven.plugins:maven-dependency-plugin:copy"),
            *(f"-Dartifact={PARQUET}", f"-DoutputDirectory={library}"),
        )
    except subprocess.SubprocessError:
        return False
    return any(library.glob("flink-sql-parquet-*.jar"))


def _call(*command: str) -> None:
    subprocess.run(command, check=True, timeout=INSTALL_SECONDS)  # noqa: S603  (our own)
