"""What `import penstock` offers: typed, and loaded when it is asked for."""

import subprocess
import sys
from pathlib import Path

import penstock


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
        "str",
    ]


def test_to_import_penstock_loads_no_spark() -> None:
    code = "import sys, penstock; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
