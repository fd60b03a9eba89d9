"""Sections of several bundles that are the same are made once, each gets its own columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa
import pytest

from penstock.engine.arrow.answers import answer
from penstock.engine.states.sharing.multi_aggregate_scan import scan_table, tables_of
from penstock.engine.states.sharing.passes import Pass
from penstock.engine.states.state import Run
from penstock.errors import RunError
from penstock.plan.operators import Operator
from penstock.plan.operators.bundles.member import Section, member_of
from penstock.plan.sharing.layout import Layout, layout_of
from tests.unit.plan.bundles.queries import COUNT, MAX, SCAN, SCHEMA, SECOND, aggregate, kept


def wanted(root: Operator) -> tuple[Section, Layout]:
    """Return what a bundle of one query wants of its tuples."""
    member = member_of(root)
    assert member is not None
    return member.section, layout_of([member])


@dataclass
class Sparkless:
    """Gives a row of every column that is asked for, and says how often it was asked."""

    asked: list[str] = field(default_factory=list)

    def side_by_side(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        return [work() for work in works]

    def views(self, *_: object, **__: object) -> dict[str, str]:
        return {}

    def in_driver(self, *_: object) -> None:
        return None

    def mapped(self, *_: object) -> pa.Table:
        raise RunError("no worker can do this")


@dataclass(frozen=True)
class OneRow(Run):
    """A run whose answers have the columns of a layout."""

    layouts: Sequence[Layout] = ()

    def plain_leaves(self) -> dict[str, Any]:
        return {}

    def input_sql(self, place: int = 0) -> str:
        return f"SELECT {place}"

    def select(self, sql: str, leaves: Mapping[str, Any], *_: Any, **__: Any) -> pa.Table:
        cast("Any", self.processor).asked.append(sql)
        (layout,) = [each for each in self.layouts if each.pane_sql("(SELECT 0)") == sql]
        return pa.table({name: [sql] for name in layout.columns})


def made(found: Pass) -> tuple[list[pa.Table], int]:
    processor = Sparkless()
    run = OneRow(cast("Any", processor), cast("Any", None), {}, (), (), layouts=found.layouts)
    return found.made(run), len(processor.asked)


def test_equal_sections_with_equal_panes_are_one_with_the_aggregates_of_all() -> None:
    one, other = wanted(aggregate(size=10)), wanted(aggregate(size=10, aggregates=(MAX,)))
    found = Pass.over([one, other], SCHEMA)
    (layout,) = found.layouts
    assert layout.pane == 10 * SECOND
    assert {each for _, each in layout.aggregates} == {COUNT, MAX}
    tables, passes = made(found)
    assert passes == 1
    assert [table.column_names for table in tables] == [one[1].columns, other[1].columns]


@pytest.mark.parametrize("others", [(), (4,), (4, 3)])
def test_partials_are_those_that_a_section_makes_alone_whoever_goes_along(
    others: tuple[int, ...],
) -> None:
    """A run that is done again goes alone: the same doubles have to be added in the same order."""
    one = wanted(aggregate(size=10))
    found = Pass.over([one, *(wanted(aggregate(size=size)) for size in others)], SCHEMA)
    assert found.layouts[found.homes[0]].pane == one[1].pane


def test_sections_that_tell_tuples_apart_otherwise_stay_apart() -> None:
    plain = wanted(aggregate())
    for other in (aggregate(kept(SCAN, "`x` > 2")), aggregate(keys=()), aggregate(size=3600)):
        found = Pass.over([plain, wanted(other)], SCHEMA)
        assert len(found.layouts) == 2
        assert found.homes == [0, 1]


def test_where_a_sweep_fails_each_is_made_by_itself_from_then_on() -> None:
    found = Pass.over([wanted(aggregate()), wanted(aggregate(keys=()))], SCHEMA)
    assert found.places == [0, 1]
    tables, passes = made(found)
    assert passes == 2
    assert found.places == ()
    assert [table.num_rows for table in tables] == [1, 1]


TIMES = pa.array([0, 1, 11 * SECOND, 1], pa.int64()).cast(pa.timestamp("us", "UTC"))
TUPLES = pa.table({"ts": TIMES, "k": ["a", "b", "a", None], "x": [1.0, 2.5, 4.0, None]})


class InDriver(Sparkless):
    """Answers by Arrow, where it can."""

    def in_driver(self, leaves: Mapping[str, pa.Table], sql: str) -> pa.Table | None:
        return answer(sql, leaves)


@dataclass(frozen=True)
class Tuples(OneRow):
    """A run over tuples that lie in the driver."""

    tuples: pa.Table = field(default_factory=lambda: TUPLES)

    def plain_leaves(self) -> dict[str, Any]:
        return {"v": self.tuples}

    def input_sql(self, place: int = 0) -> str:
        return "SELECT * FROM v"


@pytest.mark.parametrize("tuples", [TUPLES, TUPLES.slice(0, 2), TUPLES.slice(0, 0)])
def test_what_the_driver_makes_is_what_workers_make(tuples: pa.Table) -> None:
    plain = wanted(aggregate(aggregates=(COUNT, MAX)))
    found = Pass.over(
        [plain, wanted(aggregate(kept(SCAN, "`x` > 2"))), wanted(aggregate())], SCHEMA
    )
    run = Tuples(cast("Any", InDriver()), cast("Any", None), {}, (), (), tuples=tuples)
    columns = answer(found.multi_scan.sql("(SELECT * FROM v)"), {"v": tuples})
    workers = pa.Table.from_batches([scan_table(columns, found.multi_scan.shares)])
    expected = tables_of(workers, len(found.places))
    made = found.scanned(run)
    assert {place: made[place].num_rows for place in found.places} == {
        place: table.num_rows for place, table in zip(found.places, expected, strict=True)
    }
    if tuples.num_rows:
        assert [made[place] for place in found.places] == expected
