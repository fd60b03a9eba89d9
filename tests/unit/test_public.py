"""What `import penstock` offers: typed, and loaded when it is asked for."""

import inspect
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import penstock
from penstock import client, entry


def test_everything_that_is_offered_is_there() -> None:
    assert set(penstock._PLACES) | {"PenstockError", "errors"} == set(penstock.__all__)
    for name in penstock.__all__:
        assert getattr(penstock, name) is not None


def test_a_type_checker_knows_what_connect_gives(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    script.write_text(
        "import penstock\n"
        "with penstock.connect() as ps:\n"
        "    reveal_type(ps)\n"
        "    reveal_type(ps.sql('SELECT 1'))\n"
        "    reveal_type(ps.subscribe('q'))\n"
        "reveal_type(penstock.connect('http://here', token=None))\n"
        "try:\n    pass\n"
        "except penstock.PenstockError as error:\n"
        "    reveal_type(error.code)\n"
    )
    told = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-incremental", "--follow-imports=silent", str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    ).stdout
    shown = [line.partition('"')[2].rstrip('"') for line in told.splitlines() if "note:" in line]
    assert shown == [
        "penstock.client.Connection",
        "penstock.runtime.statements.result.Result",
        "penstock.runtime.work.subscription.Subscription",
        "penstock.remote.connection.RemoteConnection",
        "str",
    ]


def test_to_import_penstock_loads_no_spark() -> None:
    code = "import sys, penstock; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_a_type_checker_knows_of_a_home_is_what_opens_one() -> None:
    _, of_home = typing.get_overloads(entry.connect)
    told, real = (inspect.signature(each).parameters for each in (of_home, client.connect))
    assert list(told) == list(real)


@pytest.mark.parametrize(
    "asked",
    [
        "penstock.connect('http://here', token=None)",
        "asyncio.run(penstock.connect_async('http://here'))",
    ],
)
def test_a_home_is_opened_without_what_clients_need(asked: str) -> None:
    code = (
        "import asyncio, sys; sys.modules['httpx'] = None\n"
        "import penstock; from penstock.cli.commands import load; load('run'); load('sql')\n"
        f"try:\n    {asked}\n"
        "except penstock.PenstockError as error:\n"
        "    sys.exit('penstock[client]' not in error.hint)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_client_loads_no_spark() -> None:
    code = "import sys, penstock.remote.connect; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
