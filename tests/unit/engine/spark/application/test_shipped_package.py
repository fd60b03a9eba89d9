import subprocess
import sys
import zipfile
from pathlib import Path
from unittest import mock

import pytest

from penstock.engine.spark.application.shipped_package import is_local, ship


def context_of(master: str, files: list[str] | None = None) -> mock.Mock:
    return mock.Mock(master=master, listFiles=files or [])


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]"])
def test_workers_of_this_machine_get_nothing(master: str) -> None:
    context = context_of(master)
    assert is_local(context)
    assert ship(context) == ""
    context.addPyFile.assert_not_called()


def test_workers_of_a_cluster_get_an_archive_once_that_can_be_imported() -> None:
    context = context_of("spark://host:7077")
    name = ship(context)
    (path,) = context.addPyFile.call_args.args
    assert Path(path).name == name
    assert ship(context_of("spark://host:7077", [f"spark://host:1/files/{name}"])) == name
    with zipfile.ZipFile(path) as archive:
        assert "penstock/engine/workers/task.py" in archive.namelist()
    words = "import penstock.functions; print(penstock.functions.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", words],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": path},
    )
    assert name in found.stdout, found.stderr
