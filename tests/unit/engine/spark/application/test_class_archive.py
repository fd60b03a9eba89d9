"""The class archive: for one Java and one Spark, and harmless where it does not fit."""

import os
import subprocess
from pathlib import Path

import pytest

from penstock.engine.spark.application import class_archive
from penstock.engine.spark.application.class_archive import (
    QUIET,
    archive_directory,
    archive_options,
    archive_path,
    make_archive,
)
from penstock.errors import SparkMissingError


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Keep archives below a directory of the test's own."""
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    return tmp_path


def java_at(place: Path) -> Path:
    """Make a home of something that could be Java."""
    binary = place / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text("")
    return place


def test_an_archive_lies_in_the_virtual_environment(elsewhere: Path) -> None:
    assert archive_directory() == elsewhere / "share" / "penstock"


def test_without_a_virtual_environment_it_lies_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.prefix", "same")
    monkeypatch.setattr("sys.base_prefix", "same")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert archive_directory() == tmp_path / "penstock"


def test_another_java_has_another_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = set()
    for name in ("one", "two"):
        monkeypatch.setenv("JAVA_HOME", str(java_at(tmp_path / name)))
        found.add(archive_path())
    binary = tmp_path / "two" / "bin" / "java"
    os.utime(binary, ns=(1, 1))
    assert len(found | {archive_path()}) == 3


def test_a_missing_java_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    assert archive_path().suffix == ".jsa"


@pytest.mark.usefixtures("elsewhere")
def test_options_name_an_archive_only_where_there_is_one() -> None:
    assert archive_options() == ""
    archive_path().parent.mkdir(parents=True)
    archive_path().write_bytes(b"x")
    assert f"-XX:SharedArchiveFile={archive_path()}" in archive_options()


@pytest.mark.usefixtures("elsewhere")
def test_java_starts_in_silence_with_an_archive_that_is_damaged(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.jsa"
    damaged.write_bytes(b"no archive" * 100)
    java = str(class_archive._java())
    command = [java, f"-XX:SharedArchiveFile={damaged}", *QUIET.split(), "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert "cds" not in ran.stdout + ran.stderr


def test_an_archive_replaces_those_of_other_javas(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path
) -> None:
    old = elsewhere / "share" / "penstock" / "spark-old.jsa"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"x")
    monkeypatch.setattr(class_archive, "_run_spark", lambda draft, _: draft.write_bytes(b"new"))
    assert make_archive().read_bytes() == b"new"
    assert [each.name for each in old.parent.iterdir()] == [archive_path().name]


def test_a_spark_that_fails_leaves_no_archive(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path
) -> None:
    def fails(draft: Path, log: Path) -> None:
        draft.write_bytes(b"half")
        log.write_bytes(b"why")
        raise subprocess.CalledProcessError(1, "python")

    monkeypatch.setattr(class_archive, "_run_spark", fails)
    with pytest.raises(SparkMissingError) as refused:
        make_archive()
    assert refused.value.code == "NO_SPARK"
    assert [each.suffix for each in (elsewhere / "share" / "penstock").iterdir()] == [".log"]


def test_an_archive_is_not_read_while_it_is_made_anew(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path
) -> None:
    there: list[bool] = []

    def writes(draft: Path, _: Path) -> None:
        there.append(archive_path().is_file())
        draft.write_bytes(b"new")

    monkeypatch.setattr(class_archive, "_run_spark", writes)
    assert make_archive().parent.parent.parent == elsewhere
    assert make_archive().read_bytes() == b"new"
    assert there == [False, False]
