"""What EXPLAIN says of a bundle: who is in it, what they share, and one member's own tail."""

from collections.abc import Iterator, Mapping, Sequence

from penstock.plan.abridged import abridged, few, few_items
from penstock.plan.bundles.layout import Closing, Layout, layout_of
from penstock.plan.bundles.member import Member
from penstock.plan.bundles.tails import Constant, constant, tail_of
from penstock.plan.bundles.told import CLAIMS_A_COLUMN, Told
from penstock.plan.graph import Graph
from penstock.plan.operators import key
from penstock.plan.units import Unit

SECOND = 1_000_000


def queries_in(unit: Unit, graph: Graph) -> list[str]:
    """Return the queries whose rows a unit gives, by name."""
    roots = {key(root) for root in unit.roots}
    return sorted(name for name, root in graph.queries.items() if key(root) in roots)


def bundle_lines(
    unit: Unit, graph: Graph, mine: Member | None, views: Mapping[str, str]
) -> Iterator[str]:
    """Yield the bundle, and the tail of a member where one is meant."""
    members = unit.bundle.members if unit.bundle is not None else ()
    names, layout = queries_in(unit, graph), layout_of(members)
    yield f"bundle {unit.key[:6]} of {len(names):,} queries: {few(names)}"
    yield f"  reads the trains of {', '.join(name[:6] for name in unit.inputs)}"
    yield f"  {told_text(layout.told)}; panes of {layout.pane / SECOND:g} s"
    yield f"  each train:  {pass_sql(unit, layout, views)}"
    yield f"  at a close:  {closing_sql(layout, members)}"
    if mine is not None:
        tail = tail_of(mine)
        yield f"  the tail:    {tail.shape.sql('closed')}{_given(tail.constants)}"


def told_text(told: Told) -> str:
    """Say by what tuples are told apart."""
    parts = [f"{each.column} ({each.count:,} buckets)" for each in told.buckets]
    if told.claims:
        parts.append(f"{len(told.claims):,} claim{'s' if len(told.claims) > 1 else ''}")
    return f"tells tuples apart by {' and '.join(parts)}" if parts else "does not tell tuples apart"


def pass_sql(unit: Unit, layout: Layout, views: Mapping[str, str]) -> str:
    """Return the SELECT from tuples to shared partials, long lists abridged."""
    sql = layout.pane_sql(f"({unit.input_sql(0, views)})")
    return abridged(_few_claims(sql, layout.told))


def closing_sql(layout: Layout, members: Sequence[Member]) -> str:
    """Return the SELECT from partials to those of each selection, key and window, abridged."""
    kinds = dict.fromkeys(member.aggregate.hops for member in members)
    closing = [Closing(hops, 0, 0) for hops in kinds]
    return abridged(layout.close_sql("partials", closing, "selections", "nodes"))


def _few_claims(sql: str, told: Told) -> str:
    """Return the SQL with only the ends of the sums that claims are packed by."""
    for start in range(0, len(told.claims), CLAIMS_A_COLUMN):
        claims = told.claims[start : start + CLAIMS_A_COLUMN]
        terms = [f"IF({text}, {1 << bit}L, 0L)" for bit, text in enumerate(claims)]
        sql = sql.replace(" + ".join(terms), " + ".join(few_items(terms)))
    return sql


def _given(constants: Sequence[Constant]) -> str:
    """Say what stands in the columns that take a shape's constants."""
    given = [f"{constant(place)} = {_shown(value)}" for place, value in enumerate(constants)]
    return f" with {', '.join(given)}" if given else ""


def _shown(value: Constant) -> str:
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'" if isinstance(value, str) else str(value)
