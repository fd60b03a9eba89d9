"""What EXPLAIN says of a bundle: who is in it, what they share, and a member's post-aggregation."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from penstock.model.own_names import INPUT
from penstock.model.schema import quoted
from penstock.plan.algebra.plain import combinations
from penstock.plan.explain.abridged import abridged, few, few_items
from penstock.plan.operators import Bundle, EventBundle, FlowBundle, JoinBundle, key
from penstock.plan.operators.bundles.join_member import JoinMember
from penstock.plan.operators.bundles.member import FlowMember, Member, sections_of
from penstock.plan.operators.graph import Graph
from penstock.plan.operators.windows.span_text import span_text
from penstock.plan.sharing.layout import Closing, Layout, layout_of
from penstock.plan.sharing.multi_aggregate_scan import multi_scan_of, scan_places
from penstock.plan.sharing.post_aggregation import (
    Constant,
    PostAggregation,
    constant,
    flow_post_aggregation_of,
    join_post_aggregation_of,
    post_aggregation_of,
)
from penstock.plan.sharing.predicate_index import PredicateIndex, predicate_index_of
from penstock.plan.sharing.shared_join import joins_of, shared_join_of
from penstock.plan.sharing.units import Unit

SECOND = 1_000_000
SIDE_NAMES = ("left:", "right:")


def queries_in(unit: Unit, graph: Graph) -> list[str]:
    """Return the queries whose rows a unit gives, by name."""
    roots = {key(root) for root in unit.roots}
    if isinstance(unit.bundle, EventBundle):  # what is detected may be read by way of conditions
        users = graph.queries_of()
        return sorted({name for root in roots for name in users.get(root, ())})
    return sorted(name for name, root in graph.queries.items() if key(root) in roots)


def bundle_lines(unit: Unit, graph: Graph, mine: str, views: Mapping[str, str]) -> Iterator[str]:
    """Yield the bundle, and the post-aggregation of the member whose root is `mine`."""
    names = queries_in(unit, graph)
    yield f"bundle {unit.key[:6]} of {len(names):,} queries: {few(names)}"
    yield f"  reads the trains of {', '.join(name[:6] for name in unit.inputs)}"
    match unit.bundle:
        case Bundle(members=members):
            sections = sections_of(members)
            together = next(each for each in sections.values() if mine in {m.key for m in each})
            layout = layout_of(together)
            many = f" (one of {len(sections):,} sections)" if len(sections) > 1 else ""
            how = f"which {index_text(layout.predicate_index)}; panes of {layout.pane / SECOND:g} s"
            yield f"  in a section of {len(together):,}{many}, {how}"
            layouts = list(map(layout_of, sections.values()))
            yield from _pass_lines(unit, layouts, layouts.index(layout), views)
            by_arrow = combinations(layout.aggregates) is not None
            where = "in the driver while partials are few, else " if by_arrow else ""
            yield f"  at a close:  {where}{closing_sql(layout, together)}"
            post_aggregations = [
                post_aggregation_of(member) for member in together if member.key == mine
            ]
            yield from (
                f"  then:        {_post_aggregation_sql(post_aggregation, 'closed')}"
                for post_aggregation in post_aggregations
            )
        case FlowBundle(members=flows):
            yield f"  {index_text(predicate_index_of(flows))}"
            yield f"  each train:  {flow_sql(unit, flows, views)}"
            post_aggregations = [
                flow_post_aggregation_of(member) for member in flows if member.key == mine
            ]
            yield from (
                f"  then:        {flow_post_aggregation_text(post_aggregation)}"
                for post_aggregation in post_aggregations
            )
        case JoinBundle() as bundle:
            yield from _join_lines(bundle, next(m for m in bundle.members if m.key == mine))
        case EventBundle(members=events):
            yield f"  detects {len(events):,} events; EXPLAIN EVENT draws their graph"
        case None:
            return


def _join_lines(bundle: JoinBundle, mine: JoinMember) -> Iterator[str]:
    """Yield what a bundle of joins keeps of either side, its join, and what is one member's."""
    shared, joins = shared_join_of(bundle), joins_of(bundle.members).values()
    widths = [span_text(side.width) for side in mine.join.sides]
    for place, side in enumerate(shared.sides):
        index = predicate_index_of([each.sides[place] for each in joins])
        kept = f"keeps a tuple once, for {span_text(side.width)} at most"
        yield f"  {SIDE_NAMES[place]:<11}  {index_text(index)}; {kept}"
    yield from (f"  {when:<11}  {abridged(sql)}" for when, sql in shared.steps_sql())
    yield "  or:          join by join, where they want different tuples of crowded keys"
    yield f"  its pairs:   within {' and '.join(widths)}, of tuples that it wants"
    post_aggregation = join_post_aggregation_of(mine)
    yield f"  then:        {flow_post_aggregation_text(post_aggregation, 'pairs')}"


def _pass_lines(
    unit: Unit, layouts: Sequence[Layout], mine: int, views: Mapping[str, str]
) -> Iterator[str]:
    """Yield how tuples become the partials of one section: by a pass, or by a scan for many."""
    places = scan_places(layouts)
    if mine not in places:
        yield f"  each train:  {pass_sql(unit, layouts[mine], views)}"
        return
    multi_scan = multi_scan_of([layouts[place] for place in places], unit.root.inputs[0].schema)
    sql = multi_scan.sql(f"({unit.input_sql(0, views)})")
    for place in places:
        sql = _few_bits(sql, layouts[place].predicate_index, layouts[place].predicate_index.within)
    many = f"all {len(places):,} sections" if len(places) > 1 else "it"
    layout = layouts[mine]
    keys = [quoted(name) for name, _ in layout.keys] + layout.predicate_index.names
    yield f"  each train:  {abridged(sql)}, once for {many}"
    yield f"  by workers:  groups by {', '.join([*keys, 'pane'])}"


def index_text(predicate_index: PredicateIndex) -> str:
    """Say by what tuples are told apart."""
    parts = [f"{each.column} ({each.count:,} buckets)" for each in predicate_index.buckets]
    if predicate_index.predicates:
        count = len(predicate_index.predicates)
        parts.append(f"{count:,} predicate bit{'s' if count > 1 else ''}")
    return f"tells tuples apart by {' and '.join(parts)}" if parts else "does not tell tuples apart"


def pass_sql(unit: Unit, layout: Layout, views: Mapping[str, str]) -> str:
    """Return the SELECT from tuples to shared partials, long lists abridged."""
    sql = layout.pane_sql(f"({unit.input_sql(0, views)})")
    return abridged(_few_bits(sql, layout.predicate_index))


def flow_sql(unit: Unit, members: Sequence[FlowMember], views: Mapping[str, str]) -> str:
    """Return the SELECT that marks tuples with what tells them apart, long lists abridged."""
    predicate_index = predicate_index_of(members)
    wanted = predicate_index.wanted_sql([member.asked for member in members])
    sql = f"SELECT * FROM {predicate_index.sql(f'({unit.input_sql(0, views)})')} AS {INPUT}{wanted}"
    return abridged(_few_bits(sql, predicate_index))


def flow_post_aggregation_text(post_aggregation: PostAggregation, relation: str = "tuples") -> str:
    """Return what a member makes of its tuples: SQL, or columns where it picks some."""
    if (picks := post_aggregation.shape.picks) is not None:
        return f"picks {', '.join(map(quoted, picks.values()))}, without Spark"
    return _post_aggregation_sql(post_aggregation, relation)


def closing_sql(layout: Layout, members: Sequence[Member]) -> str:
    """Return the SELECT from partials to those of each selection, key and window, abridged."""
    kinds = dict.fromkeys(member.aggregate.assigner for member in members)
    closing = [Closing(assigner, 0, 0) for assigner in kinds]
    return abridged(layout.close_sql("partials", closing, "selections", "nodes"))


def _few_bits(sql: str, predicate_index: PredicateIndex, but: Collection[str] = ()) -> str:
    """Return the SQL with only the ends of the sums that predicate bits are packed by."""
    for place in predicate_index.bit_places:
        terms = predicate_index.bit_terms(place, but)
        sql = sql.replace(" + ".join(terms), " + ".join(few_items(terms))) if terms else sql
    return sql


def _post_aggregation_sql(post_aggregation: PostAggregation, relation: str) -> str:
    return f"{post_aggregation.shape.sql(relation)}{_given(post_aggregation.constants)}"


def _given(constants: Sequence[Constant]) -> str:
    """Say what stands in the columns that take a shape's constants."""
    given = [f"{constant(place)} = {_shown(value)}" for place, value in enumerate(constants)]
    return f" with {', '.join(given)}" if given else ""


def _shown(value: Constant) -> str:
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'" if isinstance(value, str) else str(value)
