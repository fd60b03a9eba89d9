"""Whose late tuples are a query's: those of every operator of its own, however deep."""

from penstock.plan.operators import Operator, WindowAggregate, WindowJoin, key, walk
from penstock.plan.operators.lateness import judges, takes_tuples
from tests.unit.plan.twin import bind

JOINED = (
    "SELECT t.ts, t.mph FROM traffic [RANGE 5 SECONDS] AS t "
    "JOIN south [RANGE 5 SECONDS] AS s ON t.car_id = s.id"
)
COUNTED = f"SELECT window_start, count(*) AS n FROM ({JOINED}) [RANGE 10 SECONDS]"


def kinds(found: tuple[Operator, ...]) -> list[type]:
    return [type(each) for each in found]


def test_a_join_below_a_window_judges_too() -> None:
    found = judges(bind(COUNTED))
    assert kinds(found) == [WindowJoin, WindowAggregate]
    assert [takes_tuples(each) for each in found] == [True, False]


def test_all_branches_of_a_union_judge() -> None:
    one = "SELECT window_start, count(*) AS n FROM traffic [RANGE 5 SECONDS]"
    two = "SELECT window_start, count(*) AS n FROM south [RANGE 5 SECONDS]"
    assert kinds(judges(bind(f"{one} UNION ALL {two}"))) == [WindowAggregate] * 2


def test_what_lies_in_a_query_that_is_read_is_that_querys() -> None:
    root = bind(COUNTED)
    foreign = {key(node) for node in walk(bind(JOINED))}
    found = judges(root, foreign)
    assert kinds(found) == [WindowAggregate]
    assert takes_tuples(found[0], foreign)


def test_tuples_without_state_are_never_late() -> None:
    assert judges(bind("SELECT mph FROM traffic WHERE mph > 3")) == ()
