import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIND_JAVA = ROOT / "scripts" / "find-java"


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAMED = {
    "requirements.lock": [
        *PROJECT["project"]["dependencies"],
        *(each for extra in PROJECT["project"]["optional-dependencies"].values() for each in extra),
        *PROJECT["dependency-groups"]["build"],
    ],
    "requirements-docs.lock": PROJECT["dependency-groups"]["docs"],
}


@pytest.mark.parametrize("lock", NAMED)
def test_a_lock_holds_no_addresses(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text()


@pytest.mark.parametrize(("lock", "named"), NAMED.items())
def test_a_lock_pins_every_dependency_that_the_project_names(lock: str, named: list[str]) -> None:
    pinned = re.findall(r"^([a-z0-9-]+)==", (ROOT / lock).read_text(), re.MULTILINE)
    assert {package_name(line) for line in named} <= set(pinned)


def test_java_home_is_preferred_to_the_path(tmp_path: Path) -> None:
    ours = fake_java(tmp_path / "ours", version="21")
    other = fake_java(tmp_path / "other", version="17")
    assert find_java(java_home=ours, path=other / "bin") == str(ours)


def test_a_java_home_that_is_too_old_gives_way_to_the_path(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", version="1.8")
    new = fake_java(tmp_path / "new", version="17")
    assert find_java(java_home=old, path=new / "bin") == str(new)


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_a_java_that_spark_cannot_run_on_is_not_found(tmp_path: Path, version: str) -> None:
    assert find_java(path=fake_java(tmp_path, version=version) / "bin") is None


def test_no_java_is_not_found(tmp_path: Path) -> None:
    assert find_java(java_home=tmp_path / "gone", path=tmp_path) is None


def package_name(requirement: str) -> str:
    """Return the normal form of the name that a requirement opens with."""
    return re.split(r"[=<>! ;\[]", requirement)[0].lower().replace("_", "-")


def fake_java(home: Path, *, version: str) -> Path:
    """Make a Java home whose `java` only answers what it is, and return it."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    settings = f"    java.home = {home}\n    java.specification.version = {version}"
    java.write_text(f"#!/bin/sh\necho '{settings}' >&2\n")
    java.chmod(0o755)
    return home


def find_java(*, path: Path, java_home: Path | None = None) -> str | None:
    """Run the script with only `sed` and what is in `path` to be found."""
    (path / "sed").symlink_to(shutil.which("sed") or "sed")
    environment = {"PATH": str(path)}
    if java_home is not None:
        environment["JAVA_HOME"] = str(java_home)
    done = subprocess.run(
        ["/bin/sh", FIND_JAVA], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None
