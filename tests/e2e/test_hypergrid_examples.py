"""The scripts and the notebook of examples/hypergrid, over a smaller field.

The notebook's code cells run one after the other in one namespace, without a kernel: what a kernel
adds (outputs that are shown, `await` at the top) it does not use.
"""

import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib import pyplot as plt
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection, connect
from penstock.sql import parse
from tests.examples import IS_WHOLE

pytestmark = pytest.mark.spark
EXAMPLES = Path(__file__).parents[2] / "examples" / "hypergrid"
DAYS, EVERY = (45, 145) if IS_WHOLE else (45, 3600)


@pytest.fixture
def field() -> Any:
    return runpy.run_path(str(EXAMPLES / "field.py"))["field"]


def test_the_field_has_the_shape_of_the_documents(field: Any) -> None:
    """Nine measures, gaps, nonsense and drifting clocks; all of it is 588,793 readings long."""
    some: pa.Table = field(2, 900)
    assert some == field(2, 900)
    assert len(some.column_names) == 4 + 9
    assert min(some["ambient_temperature"].to_pylist()) == -999
    seconds = {each.second for each in some["ts"].to_pylist()}
    assert len(seconds) > 1
    if IS_WHOLE:
        assert field().num_rows == 588_793


def test_the_queries_of_the_documents_run(
    ps: Connection, field: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    pq.write_table(field(DAYS, EVERY), tmp_path / "out" / "readings.parquet")
    text = (EXAMPLES / "perspectives.sql").read_text()
    found = [
        result.table.to_pylist()
        for statement in parse(text)
        if (result := ps.sql(statement.text)).table is not None
    ]
    q1, q2, q3, q4, q5, noon, course = found
    assert [rows[0]["cells"] for rows in (q1, q2, q3, q4)] == [529, 529, 529, 33 * 33]
    assert -5 < q1[0]["mean"] < 10
    assert abs(q1[0]["mean"] - q4[0]["mean"]) < 1
    assert 10 < q2[0]["mean"] < 60
    assert {row["cells"] for row in q5} <= {529}
    assert noon[0]["rain_and_sun_at_noon"] < -0.5
    assert [row["hour"] for row in course] == list(range(24))
    assert course[0]["watts"] < 1
    assert course[12]["watts"] > 400


@pytest.fixture
def headless(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Draw into memory, and count the pictures that are shown."""
    shown: list[int] = []
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf().number))
    yield shown
    plt.close("all")


def test_the_notebook_runs(
    spark: SparkSession,
    headless: list[int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr(penstock, "connect", lambda home: connect(home, spark=spark))
    cells = json.loads((EXAMPLES / "field.ipynb").read_text())["cells"]
    names: dict[str, Any] = {}
    for number, cell in enumerate(each for each in cells if each["cell_type"] == "code"):
        code = "".join(cell["source"])
        if not IS_WHOLE:
            code = code.replace("DAYS, EVERY = 21, 900", "DAYS, EVERY = 21, 3600")
        exec(compile(code, f"field.ipynb:{number}", "exec"), names)
        assert cell["outputs"] == []
    said = capsys.readouterr().out
    assert "<- chosen" in said
    together = re.search(r"go together by (-?[\d.]+)", said)
    assert together is not None
    assert float(together[1]) < -0.5
    assert len(headless) == 2
    drawn = names["drawn"]
    assert [each.whole for each in drawn] == [False] * (len(drawn) - 1) + [True]
    assert (names["folder"] / "readings.parquet").exists()
