import re
from pathlib import Path

import pytest

from penstock.experiments import EXPERIMENTS
from penstock.schedule import STRATEGIES, batching

TEXT = (Path(__file__).parents[3] / "docs/explanation/scheduling.md").read_text()


def test_every_strategy_and_batching_rule_is_explained() -> None:
    table = set(re.findall(r"^\| `(\w+)`", TEXT, re.MULTILINE))
    assert table >= STRATEGIES.keys()
    rules = {"Everything", "FixedLength", "FixedInterval", "Intelligent"}
    assert all(hasattr(batching, name) and f"`{name}" in TEXT for name in rules)


def test_the_experiments_that_are_named_are_there() -> None:
    named = set(re.findall(r"penstock simulate (\w+)", TEXT))
    assert named <= {*EXPERIMENTS, "list"}


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(example, "scheduling.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["round_robin", "pcs", "optprofit"]
