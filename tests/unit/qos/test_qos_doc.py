import re
from pathlib import Path

import pytest

from penstock.experiments import EXPERIMENTS

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "explanation/qos.md").read_text()
ROOM = Path(__file__).parents[3] / "src/penstock/qos"


def test_the_example_runs_and_says_what_the_text_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(example, "qos.md", "exec"), {})
    first, second = capsys.readouterr().out.splitlines()
    assert first == "{'': 1.5}"
    assert "('cleaned', 'trends'): 0.2" in second.replace("0.19999999999999996", "0.2")
    assert "'alert': 0" in second


def test_the_modules_that_are_named_are_there() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", TEXT))
    places = (ROOM, ROOM.parent, DOCS.parent)
    assert named
    assert [name for name in named if not any((at / name).exists() for at in places)] == []


def test_the_experiments_are_told_of() -> None:
    told = (DOCS / "experiments/qos.md").read_text()
    named = set(re.findall(r"penstock simulate (\w+)", told))
    assert {"overload", "recovery", "estimates"} <= named <= {*EXPERIMENTS, "list"}
