"""The how-to about functions of one's own: its code, from top to bottom."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import connect

TEXT = (Path(__file__).parents[2] / "docs/howto/own_function.md").read_text()


@pytest.mark.spark
def test_the_code_of_the_how_to_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(penstock, "connect", lambda home: connect(tmp_path / home, spark=spark))
    names: dict[str, Any] = {"__name__": "howto"}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, "own_function.md", "exec"), names)
    assert len(names["last"]) == 10
