import pytest

from penstock.errors import BadQueryError
from penstock.plan.select.once import Called, calls_as_names, names_in, over_views
from penstock.sql import parse_select, spark_sql


def viewed(select: str) -> str:
    return over_views(parse_select(select), lambda name: f"v_{name.replace('.', '_')}")


@pytest.mark.parametrize(
    ("select", "over"),
    [
        ("SELECT * FROM a", "SELECT * FROM v_a AS a"),
        ("SELECT t.x FROM a t", "SELECT t.x FROM v_a AS t"),
        ("SELECT * FROM a AS t(x, y)", "SELECT * FROM v_a AS t(x, y)"),
        ("SELECT late.x FROM q.late", "SELECT late.x FROM v_q_late AS late"),
        ("SELECT * FROM (SELECT * FROM a) AS y", "SELECT * FROM (SELECT * FROM v_a AS a) AS y"),
        (
            "SELECT a.x FROM a JOIN b ON a.k = b.k",
            "SELECT a.x FROM v_a AS a JOIN v_b AS b ON a.k = b.k",
        ),
        (
            "SELECT x FROM a WHERE EXISTS(SELECT 1 FROM b)",
            "SELECT x FROM v_a AS a WHERE EXISTS(SELECT 1 FROM v_b AS b)",
        ),
        (
            "WITH c AS (SELECT * FROM a) SELECT * FROM C",
            "WITH c AS (SELECT * FROM v_a AS a) SELECT * FROM C",
        ),
        ("SELECT * FROM range(3)", "SELECT * FROM range(3)"),
        (
            "SELECT * FROM a TABLESAMPLE (10 PERCENT)",
            "SELECT * FROM v_a TABLESAMPLE (10 PERCENT) AS a",
        ),
        (
            "SELECT * FROM a PIVOT(SUM(x) FOR y IN (1, 2))",
            "SELECT * FROM v_a AS a PIVOT(SUM(x) FOR y IN (1, 2))",
        ),
        ("SELECT x FROM a ORDER BY x LIMIT 3", "SELECT x FROM v_a AS a ORDER BY x LIMIT 3"),
    ],
)
def test_every_relation_becomes_a_view_and_all_else_stays(select: str, over: str) -> None:
    assert viewed(select) == over


def test_the_tree_that_was_given_is_left_alone() -> None:
    tree = parse_select("SELECT * FROM a")
    over_views(tree, lambda _: "v")
    assert tree == parse_select("SELECT * FROM a")


def test_a_window_has_no_meaning_for_what_is_there_now() -> None:
    with pytest.raises(BadQueryError):
        viewed("SELECT count(*) FROM a [RANGE 1 MINUTE]")


@pytest.mark.parametrize(
    ("select", "names"),
    [
        ("SELECT * FROM A", {"a"}),
        ("SELECT * FROM a, b JOIN c ON true", {"a", "b", "c"}),
        ("SELECT * FROM Q.Late", {"q.late"}),
        ("SELECT x FROM a WHERE y IN (SELECT y FROM b)", {"a", "b"}),
        ("WITH c AS (SELECT * FROM a) SELECT * FROM c", {"a"}),
        ("SELECT ts FROM a UNION ALL SELECT ts FROM b [RANGE 1 MINUTE]", {"a", "b"}),
        ("SELECT * FROM range(3)", set()),
    ],
)
def test_the_names_that_a_select_reads_have_no_case(select: str, names: set[str]) -> None:
    assert names_in(parse_select(select)) == names


def test_functions_in_from_become_names() -> None:
    found: list[Called] = []

    def name_of(call: Called) -> str:
        found.append(call)
        return f"made_{len(found)}"

    select = "SELECT fft3.x FROM fft3(b) CROSS JOIN loud(fft3(a), 2, 'x') AS l CROSS JOIN range(3)"
    tree = calls_as_names(parse_select(select), lambda _, over: over in ("a", "b"), name_of)
    assert spark_sql(tree) == (
        "SELECT fft3.x FROM made_1 AS fft3 CROSS JOIN made_2 AS l CROSS JOIN range(3)"
    )
    assert [(call.name, str(call.term)) for call in found] == [
        ("fft3", "fft3"),
        ("loud", "loud(2, 'x')"),
    ]
    assert isinstance(found[1].over, Called)
    assert (found[0].over, found[1].over.over) == ("b", "a")
