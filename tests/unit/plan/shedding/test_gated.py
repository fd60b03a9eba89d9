"""Where gates stand: before streams, behind queries, before the sides of a join."""

import pytest

from penstock.errors import BadQueryError
from penstock.plan.operators import Gate, Operator, Scan, key, walk
from penstock.plan.operators.gate import ADDED, KEPT
from penstock.plan.relations.sources import StreamSource
from penstock.plan.select.bind import Binder
from penstock.plan.sharing.units import cut_at_shared
from penstock.plan.shedding.gated import gates_above, shows_tuples
from penstock.plan.shedding.sampled import bind_sampled, why_whole
from penstock.plan.shedding.shed_by import by_worth, worth_gate
from penstock.sql import parse_select
from tests.unit.plan.twin import SOUTH, TRAFFIC, World

COUNT = "SELECT car_id, count(*) AS c FROM {} [RANGE 1 MINUTE] GROUP BY car_id"
PAIRS = (
    "SELECT a.car_id, b.mph FROM traffic [RANGE 1 MINUTE] AS a "
    "JOIN south [RANGE 1 MINUTE] AS b ON a.car_id = b.id"
)


class Rough(World):
    def binder(self) -> Binder:
        return Binder(lambda name: self.known.get(name.lower()), self.analyst)

    def sample(self, select: str, max_error: float = 0.5) -> Operator:
        tree = parse_select(select)
        assert why_whole(self.binder(), tree) == ""
        return bind_sampled(self.binder(), tree, max_error)

    def sample_as(self, name: str, select: str, max_error: float) -> Operator:
        root = self.sample(select, max_error)
        self.known[name] = StreamSource(root)
        self.graph = self.graph.with_query(name, root)
        return root

    def whole(self, select: str) -> str:
        return why_whole(self.binder(), parse_select(select))


def gates(root: Operator) -> list[Gate]:
    return [node for node in walk(root) if isinstance(node, Gate)]


def test_behind_an_exact_query_its_own_operators_stay_what_they_are() -> None:
    world = Rough()
    fast = world.name("fast", "SELECT ts, car_id, mph FROM traffic WHERE mph > 70")
    root = world.sample_as("rough", COUNT.format("fast"), 0.5)
    (gate,) = gates(root)
    assert gate.input is fast
    assert not gate.thinned
    assert root.schema.names == ("car_id", "c", *ADDED)
    units = {unit.key: unit for unit in cut_at_shared(world.graph)}
    assert units[key(gate)].inputs == (key(fast),)  # which is one unit for both queries
    assert units[key(fast)].inputs == (key(TRAFFIC),)


def test_behind_a_query_with_a_gate_there_is_a_second_one() -> None:
    world = Rough()
    few = world.sample_as("few", "SELECT * FROM traffic WHERE mph > 70", 0.1)
    root = world.sample("SELECT *, mph + 1 AS more FROM few", 0.3)
    first, second = gates(root)
    assert (first.input, second.input) == (TRAFFIC, few)
    assert (first.thinned, second.thinned) == (False, True)
    assert second.schema.names == (*TRAFFIC.schema.names, KEPT)
    assert root.schema.names == (*TRAFFIC.schema.names, "more", *ADDED)
    assert gates_above(root) == [second]
    assert len(gates(world.sample(COUNT.format("few"), 0.3))) == 2


def test_pairs_of_an_exact_join_are_sampled_one_by_one() -> None:
    world = Rough()
    pairs = world.name("pairs", PAIRS.replace("SELECT ", "SELECT a.ts, "))
    root = world.sample(COUNT.format("pairs"))
    (gate,) = gates(root)
    assert gate.input is pairs
    assert not shows_tuples(root)
    assert shows_tuples(world.sample("SELECT mph FROM pairs"))


def test_a_join_inside_is_sampled_behind_it() -> None:
    inner = PAIRS.replace("SELECT ", "SELECT a.ts, ")
    root = Rough().sample(COUNT.format(f"({inner}) AS j"))
    (gate,) = gates(root)
    assert gate.input == Rough().bind(inner)
    assert root.schema.names == ("car_id", "c", *ADDED)
    item = "SELECT ts, car_id FROM traffic WHERE mph > 3"
    assert "SELECT inside" in Rough().whole(COUNT.format(f"({item}) AS j"))


def test_both_sides_of_a_join_that_shows_pairs_have_gates() -> None:
    root = Rough().sample(PAIRS)
    assert {gate.input for gate in gates(root)} == {TRAFFIC, SOUTH}
    assert shows_tuples(root)
    assert root.schema.names == ("car_id", "mph", *ADDED)
    assert root.text().count(KEPT) == 4  # both, in _error and in _shed
    stars = Rough().sample(PAIRS.replace("a.car_id, b.mph", "a.*, b.id"))
    assert KEPT not in stars.schema.names


def test_a_tuple_that_meets_a_table_is_still_a_tuple() -> None:
    join = "FROM traffic AS t JOIN roads AS r ON t.mph = r.id"
    for shown in ("t.car_id, r.name", "t.*, r.name", "r.*, t.car_id"):
        root = Rough().sample(f"SELECT {shown} {join}")
        (gate,) = gates(root)
        assert gate.input == TRAFFIC
        assert KEPT not in root.schema.names
        assert by_worth(root, "`mph`") != root


@pytest.mark.parametrize(
    ("select", "told"),
    [
        (COUNT.format("minutes"), "minutes is no stream"),
        ("SELECT c FROM minutes", "minutes is no stream"),
        ("SELECT _shed AS lost FROM few", "what few says of its own"),
        ("SELECT a FROM traffic AS t (a, b, c, d, e, f)", "other names"),
        ("SELECT mph FROM copy", "does not say how large"),
        (COUNT.format("best"), "drops what is worth least"),
        ("SELECT car_id FROM best", "drops what is worth least"),
        (COUNT.format("named"), "rows of a join together"),
        (COUNT.format("met"), "rows of a join together"),
        (PAIRS.replace("JOIN", "LEFT JOIN", 1), "who has no partner"),
        (PAIRS.replace("JOIN", "NATURAL JOIN").split(" ON")[0], "NATURAL"),
        (PAIRS.replace("[RANGE 1 MINUTE]", "[ROWS 10]"), "not spans of time"),
        (PAIRS.replace("1 MINUTE]", "2 MINUTES SLIDE 1 MINUTE]"), "window by window"),
        (
            "SELECT a.ts FROM traffic AS a JOIN south AS b ON a.ts = b.at GROUP BY a.ts",
            "pairs of a join",
        ),
        (PAIRS.replace("south", "traffic").replace("b.id", "b.car_id"), "twice"),
        (
            "SELECT a.ts, count(*) AS c FROM traffic AS a JOIN south AS b ON a.ts = b.at "
            "GROUP BY a.ts",
            "pairs of a join",
        ),
        (
            "SELECT r.name, count(*) AS c FROM traffic [RANGE 1 MINUTE] AS t "
            "JOIN roads AS r ON t.mph = r.id GROUP BY r.name",
            "join with a table",
        ),
        ("SELECT xs FROM nested", "without an order"),
    ],
)
def test_what_a_sample_would_make_something_else_says_why(select: str, told: str) -> None:
    world = Rough()
    world.name("minutes", COUNT.format("traffic"))
    world.sample_as("few", "SELECT * FROM traffic", 0.1)
    world.name("copy", "SELECT mph FROM few")
    best = by_worth(world.sample("SELECT ts, car_id FROM traffic"), "`mph`")
    world.known["best"] = StreamSource(best)
    table = "SELECT t.ts, t.car_id FROM traffic AS t JOIN roads AS r ON t.mph = r.id"
    world.sample_as("named", table, 0.1)
    world.sample_as("met", PAIRS.replace("SELECT ", "SELECT a.ts, "), 0.1)
    world.name("nested", PAIRS.replace("a.car_id", "a.xs"))
    assert told in world.whole(select)


def test_a_join_is_gated_where_it_can_be() -> None:
    world = Rough()
    world.name("minutes", "SELECT window_start, count(*) AS c FROM south [RANGE 1 MINUTE]")
    root = world.sample(
        "SELECT a.car_id, m.c FROM traffic [RANGE 1 MINUTE] AS a "
        "JOIN minutes [RANGE 1 MINUTE] AS m ON a.mph = m.c"
    )
    assert [gate.input for gate in gates(root)] == [TRAFFIC]
    assert not isinstance(root, Scan)


def test_shed_by_is_of_one_input() -> None:
    root = Rough().sample(PAIRS)
    assert worth_gate(root, None) is None
    with pytest.raises(BadQueryError, match="joins several"):
        worth_gate(root, "mph")
