"""Who closes a bundle's windows goes by how many partials there are, wherever they are."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest

from penstock.engine.states.state import Run
from penstock.engine.states.windows import closing
from penstock.engine.states.windows.closing import Closer
from penstock.engine.states.windows.kept_partials import part_of
from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators.bundles.member import member_of
from penstock.plan.operators.windows.window_aggregate import PANE
from penstock.plan.operators.windows.window_assigner import spans
from penstock.plan.sharing.layout import Closing, layout_of
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.plan.bundles.queries import SECOND, aggregate

SUM = Aggregate("sum(`x`)", ("sum(CAST(`x` AS double))",), ("CAST(sum({0}) AS double)",))
VALUES = ([0.1, 1e16, 0.2], [-1e16, 0.3, 0.7])  # their sum depends on who is added first
CLOSINGS = [Closing(spans(4 * SECOND, 2 * SECOND), 0, 0)]


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def closer(spilled: Sequence[bool], directory: Path) -> Closer:
    member = member_of(aggregate(size=4, slide=2, aggregates=(SUM,)))
    assert member is not None
    layout = layout_of([member])
    column = f"{layout.aggregates[0][0]}_0"
    parts = []
    for values, is_spilled in zip(VALUES, spilled, strict=True):
        panes = pa.array([0] * len(values), pa.int64())
        parts.append(part_of(pa.table({"k0": ["a"] * len(values), PANE: panes, column: values})))
        if is_spilled:
            parts[-1].rows.leave_memory(directory)
    return Closer(layout, [member], parts, {}, {member.key: None})


def a_run() -> tuple[Run, mock.Mock]:
    run = mock.create_autospec(Run, instance=True)
    run.view.side_effect = lambda name: name
    run.select.side_effect = AssertionError("Spark was asked")
    return run, run.select


@pytest.mark.parametrize("spilled", [(False, False), (True, False), (False, True), (True, True)])
def test_partials_in_files_are_combined_as_those_in_memory(
    spilled: tuple[bool, bool], tmp_path: Path
) -> None:
    run, _ = a_run()
    wanted = closer((False, False), tmp_path).closed(run, CLOSINGS)
    found = closer(spilled, tmp_path).closed(run, CLOSINGS)
    assert wanted is not None
    assert found is not None
    assert found.table.to_pylist() == wanted.table.to_pylist()


@pytest.mark.parametrize("limit", ["FEW", "MOST_BYTES"])
@pytest.mark.parametrize("spilled", [(False, False), (True, True)])
def test_more_are_left_to_spark_wherever_they_are(
    limit: str, spilled: tuple[bool, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, limit, 5)
    run, select = a_run()
    with pytest.raises(AssertionError):
        closer(spilled, tmp_path).closed(run, CLOSINGS)
    select.assert_called_once()
