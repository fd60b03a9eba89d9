"""PostgreSQL's JDBC driver, as a program of its own that goes the whole way round."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

DRIVER = "org.postgresql:postgresql:42.7.4"
DOWNLOAD_SECONDS = 60  # once: Maven keeps it


def round_trip(url: str, stream: str, query: str) -> "subprocess.CompletedProcess[str]":
    """Run RoundTrip.java over a stream and a query; skip where the driver cannot be had."""
    program = Path(__file__).with_name("RoundTrip.java")
    command = [_java(), "-cp", str(_driver()), str(program), url, stream, query]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else str(shutil.which("java"))


def _driver() -> Path:
    """Return the driver's archive, which Maven brings."""
    group, name, version = DRIVER.split(":")
    kept = Path.home() / ".m2/repository" / group.replace(".", "/") / name / version
    archive = kept / f"{name}-{version}.jar"
    if archive.exists():
        return archive
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("the JDBC driver comes by Maven, which is not installed")
    get = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"
    command = [maven, "-q", "-B", get, f"-Dartifact={DRIVER}", "-Dtransitive=false"]
    with suppress(subprocess.TimeoutExpired):  # where there is no network it tries for long
        subprocess.run(command, capture_output=True, timeout=DOWNLOAD_SECONDS, check=False)
    if not archive.exists():
        pytest.skip("Maven cannot bring the JDBC driver")
    return archive
