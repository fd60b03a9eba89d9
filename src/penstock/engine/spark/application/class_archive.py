"""Class archive: the classes that Spark's Java loads at its start, read and checked once.

Java calls it class-data sharing. With an archive Spark is there in about half of the time and of
the CPU (docs/decisions/0040). Java looks whether an archive fits its own version and the jars, and
starts without one where it does not.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark

from penstock.errors import SparkMissingError

ENDING = ".jsa"
# Java warns on standard output, where result rows go, of an archive that it does not take.
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
MAKING_SECONDS = 600  # it takes about a minute; a busy machine gets ten times that
OPTIONS_VARIABLE = "SPARK_SUBMIT_OPTS"


def archive_path() -> Path:
    """Return where the archive for this Java and this Spark lies, or would lie."""
    java, jars = _java(), Path(pyspark.__file__).with_name("jars")
    changed = java.stat().st_mtime_ns if java.exists() else 0
    facts = f"{java} {changed} {pyspark.__version__} {jars}"
    return archive_directory() / f"spark-{hashlib.sha256(facts.encode()).hexdigest()[:16]}{ENDING}"


def archive_directory() -> Path:
    """Return the directory of archives: in the virtual environment, else in the user's cache."""
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix) / "share" / "penstock"
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "penstock"


def archive_options() -> str:
    """Return Java's options for the archive, or none where there is no archive."""
    path = archive_path()
    return f'"-XX:SharedArchiveFile={path}" {QUIET}' if path.is_file() else ""


def make_archive() -> Path:
    """Make the archive for this Java and this Spark, and remove those for others beside it."""
    path = archive_path()
    draft, log = path.with_suffix(f".{os.getpid()}.draft"), path.with_suffix(".log")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # Java writes none while it reads one
        _run_spark(draft, log)
        draft.replace(path)
    except (OSError, subprocess.SubprocessError) as error:
        raise SparkMissingError(
            f"no class archive was made: {error}",
            hint=f"Spark starts without one, only slower; {log} may say more",
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    for other in path.parent.glob(f"*{ENDING}"):
        if other != path:
            other.unlink(missing_ok=True)
    return path


def _run_spark(draft: Path, log: Path) -> None:
    """Run a Spark that writes down at its end what it has loaded."""
    # A directory of settings on the class path would be part of what the archive is good for.
    kept = {name: value for name, value in os.environ.items() if name != "SPARK_CONF_DIR"}
    options = f'"-XX:ArchiveClassesAtExit={draft}" {QUIET}'
    command = [sys.executable, "-m", "penstock.engine.spark.application.class_rehearsal"]
    with log.open("wb") as file:
        subprocess.run(  # noqa: S603  (our own module, by our own Python)
            command,
            env=kept | {OPTIONS_VARIABLE: options},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            timeout=MAKING_SECONDS,
            check=True,
        )


def _java() -> Path:
    """Return the Java that Spark starts."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java") or "java"
    return Path(found).resolve()
