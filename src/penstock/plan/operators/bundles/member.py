"""Members: queries whose answers many can share the work of.

root                 Filter and Project over the windows' rows: the *post-aggregation*
weigh              over a sample: what its rows tell of all tuples
aggregate          windows of one size over partials that combine
conditions       Filter
base           what the members of a bundle have in common
"""

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.model.schema import Schema
from penstock.plan.operators.bundles.spans import EVERYTHING, Span, both, condition_of
from penstock.plan.operators.identity import key
from penstock.plan.operators.operator import Operator
from penstock.plan.operators.tuples.filter import Filter
from penstock.plan.operators.tuples.project import Project
from penstock.plan.operators.windows.horvitz_thompson import HorvitzThompson
from penstock.plan.operators.windows.sample_scaling import SampleScaling
from penstock.plan.operators.windows.window_aggregate import WindowAggregate

SECOND = 1_000_000
# Panes no longer than needed and no shorter than worth it: members whose panes are multiples of
# one of these share it at least. Days are not cut into seconds for the sake of a neighbour.
GRIDS = (3600 * SECOND, 60 * SECOND, SECOND, SECOND // 10, SECOND // 100, SECOND // 1000, 1)


ColumnSpans = tuple[str, str, tuple[Span, ...]]  # a column, its type, and what is asked of it


@dataclass(frozen=True, slots=True)
class MemberPredicate:
    """What a member's conditions ask: spans of a column (with its type), predicates, or nothing.

    `within` is what the predicate bit says of each column, where that is all that it says.
    """

    spans: tuple[ColumnSpans, ...]
    predicates: tuple[str, ...]
    within: tuple[ColumnSpans, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that are asked about."""
        return tuple(column for column, _, _ in self.spans)


@dataclass(frozen=True, slots=True)
class Section:
    """What members have in common whose partials are kept together.

    They ask about one column, or make predicate bits, or ask nothing; their panes are on one grid.
    """

    keys: tuple[tuple[str, str], ...]
    grid: int
    column: str
    predicates: bool
    lot: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """One root among those that a bundle answers; its conditions are over the base's tuples."""

    root: Operator
    base: Operator
    conditions: tuple[str, ...]

    @property
    def key(self) -> str:
        """Return its name: the root's."""
        return key(self.root)

    @property
    def bases(self) -> tuple[Operator, ...]:
        """Return what it reads, which the members of a bundle have in common."""
        return (self.base,)

    @property
    def asked(self) -> MemberPredicate:
        """Return what its conditions ask."""
        return _asked(self.conditions, self.base.schema)


@dataclass(frozen=True, slots=True, eq=False)
class Member(Asking):
    """One whose post-aggregation reads the windows' rows of an aggregate.

    Members with predicate bits come in lots, so that tuples are not told apart too finely.
    """

    aggregate: WindowAggregate
    scaling: SampleScaling | None = None
    lot: int = 0

    @property
    def section(self) -> "Section":
        """Return the section of its bundle that it belongs to."""
        asked = self.asked
        column = asked.columns[0] if asked.columns else ""
        return Section(self.aggregate.keys, self.grid, column, bool(asked.predicates), self.lot)

    @property
    def post_aggregation(self) -> list[Filter | Project]:
        """Return the filters and projections of the windows' rows, the lowest first."""
        return above_of(self.root)

    @property
    def grid(self) -> int:
        """Return what its panes are multiples of."""
        return next(grid for grid in GRIDS if self.aggregate.assigner.pane % grid == 0)


@dataclass(frozen=True, slots=True, eq=False)
class FlowMember(Asking):
    """One whose post-aggregation reads the tuples themselves."""

    @property
    def post_aggregation(self) -> list[Filter | Project]:
        """Return the operators above the conditions, the lowest first."""
        above = above_of(self.root)
        while above and isinstance(above[0], Filter):
            above = above[1:]
        return above


def inner_of(member: Asking) -> set[str]:
    """Return the nodes between the bases and the root."""
    return between(member.root, member.bases)


def between(root: Operator, bases: Iterable[Operator]) -> set[str]:
    """Return the nodes below a root and above these."""
    ends, found = set(map(key, bases)), set[str]()
    waiting = list(root.inputs)
    while waiting:
        node = waiting.pop()
        if (name := key(node)) not in ends and name not in found:
            found.add(name)
            waiting += node.inputs
    return found


def lot_of(member: Asking) -> int:
    """Return the lot of its section that a member is in."""
    return member.lot if isinstance(member, Member) else 0


def above_of(root: Operator) -> list[Filter | Project]:
    """Return the filters and projections from a root down, the lowest first."""
    found: list[Filter | Project] = []
    while isinstance(root, Filter | Project):
        found.insert(0, root)
        root = root.input
    return found


def flow_member_of(root: Operator) -> FlowMember | None:
    """Return a root without an aggregate as a member, or None where it asks for nothing."""
    above = above_of(root)
    if not above or not isinstance(above[0], Filter):
        return None
    lowest = itertools.takewhile(lambda node: isinstance(node, Filter), above)
    filters = [each for each in lowest if isinstance(each, Filter)]
    return FlowMember(root, above[0].input, in_text_order(filters))


def member_of(root: Operator) -> Member | None:
    """Return the root as a member, or None where it cannot be one."""
    node = root
    while isinstance(node, Filter | Project):
        node = node.input
    scaling = None
    if isinstance(node, HorvitzThompson):
        scaling, node = node.scaling, node.input
    if not (isinstance(node, WindowAggregate) and _is_shareable(node)):
        return None
    base, filters = node.input, list[Filter]()
    while isinstance(base, Filter):
        filters.insert(0, base)
        base = base.input
    return Member(root, base, in_text_order(filters), node, scaling)


def in_text_order(filters: Iterable[Filter]) -> tuple[str, ...]:
    """Return what filters ask, the lowest first, each once: one condition may guard the next."""
    return tuple(dict.fromkeys(text for each in filters for text in each.conditions))


def _is_shareable(aggregate: WindowAggregate) -> bool:
    """Say whether the aggregate's partials combine, over windows of one size that never end."""
    plainly = type(aggregate) is WindowAggregate and aggregate.raw is None and aggregate.grouped
    steady = (
        aggregate.assigner.endless and aggregate.assigner.is_steady and not aggregate.is_instant
    )
    assigner = aggregate.assigner
    steady = (
        steady and assigner.begin == 0 and assigner.lower <= assigner.end
    )  # panes are cut at 0, no gaps
    once = not (aggregate.marks_emission or aggregate.reads_history)
    return plainly and steady and once and aggregate.axis == "time"


@functools.lru_cache(maxsize=65536)
def _asked(conditions: tuple[str, ...], schema: Schema) -> MemberPredicate:
    spans: dict[str, tuple[str, tuple[Span, ...]]] = {}
    predicates: list[str] = []
    for text in conditions:
        found = condition_of(text, schema)
        if found is None:
            predicates.append(text)
        else:
            _, before = spans.get(found.column, ("", EVERYTHING))
            spans[found.column] = (found.type, both(before, found.spans))
    asked = tuple((column, *found) for column, found in spans.items())
    if predicates or len(spans) > 1 or any(not found for _, found in spans.values()):
        # Together they are one predicate bit: what tells tuples apart is whether all of it holds.
        # So is what no value fulfils, which cuts nothing.
        whole = " AND ".join(f"({text})" for text in conditions)
        return MemberPredicate((), (whole,), () if predicates else asked)
    return MemberPredicate(asked, ())


def sections_of(members: Sequence[Member]) -> dict[Section, list[Member]]:
    """Return the members by the section they belong to."""
    found: dict[Section, list[Member]] = {}
    for member in members:
        found.setdefault(member.section, []).append(member)
    return found
