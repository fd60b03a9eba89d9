from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.states.parts import Part
from penstock.engine.states.windows.kept_partials import KeptPartials, part_of
from penstock.plan.operators.windows.window_aggregate import PANE
from tests.unit.model.arrow_twin import arrow_without_spark

PANES = st.lists(st.integers(0, 9), min_size=1, max_size=5)


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def part(panes: list[int]) -> Part:
    return part_of(pa.table({PANE: pa.array(panes, pa.int64()), "n_0": panes}))


def panes_of(kept: KeptPartials) -> list[list[int]]:
    return [each.rows.table[PANE].to_pylist() for each in kept.parts]


@given(older=st.lists(PANES, max_size=4), newest=PANES, before=st.integers(0, 10))
def test_what_is_let_go_does_not_depend_on_what_a_checkpoint_has_written(
    tmp_path_factory: pytest.TempPathFactory, older: list[list[int]], newest: list[int], before: int
) -> None:
    directory: Path = tmp_path_factory.getbasetemp()
    loose, written = (KeptPartials(list(map(part, older))) for _ in range(2))
    for each in written.parts:
        each.rows.to_disk(directory)
    for kept in (loose, written):
        new = part(newest)
        kept.parts = [*kept.parts, new]
        kept.let_go(before, new)
        kept.delete_gone()
    left = [pane for pane in newest if pane >= before]
    wanted = [each for each in older if max(each) >= before] + ([left] if left else [])
    assert panes_of(loose) == panes_of(written) == wanted
    assert all(path.exists() for each in written.parts for path in each.rows.paths)
