"""Whatever sqlglot can read of a query is used, or refused by its name."""

from collections.abc import Iterator

import pytest
from sqlglot import exp

from penstock.errors import PenstockError
from penstock.plan.operators import Operator, Scan, walk
from penstock.plan.select.consumed import CONSUMED, refuse_unread
from penstock.sql import parse_select
from tests.unit.plan.twin import bind

OURS = {"window", "context", "flow", "clip"}  # arguments that the dialect adds
INSIDE = "(SELECT ts, mph, kind FROM traffic)"
WINDOW = "traffic [RANGE 1 MINUTE]"

# Each clause over streams, with the words of it that the refusal repeats.
REFUSED = {
    f"SELECT mph FROM {INSIDE} PIVOT (sum(mph) FOR kind IN ('x', 'y'))": "PIVOT",
    f"SELECT mph FROM {INSIDE} AS q PIVOT (sum(mph) FOR kind IN ('x', 'y')) AS p": "PIVOT",
    f"SELECT mph FROM {INSIDE} AS q UNPIVOT (v FOR n IN (mph))": "UNPIVOT",
    "SELECT mph FROM traffic PIVOT (sum(mph) FOR kind IN ('x'))": "PIVOT",
    "SELECT mph FROM traffic UNPIVOT (v FOR n IN (mph))": "UNPIVOT",
    "SELECT mph FROM traffic t JOIN roads r JOIN roads q ON r.id = q.id ON r.id = t.mph": "JOIN",
    "SELECT 1 AS one FROM (traffic t JOIN roads r ON r.id = t.mph)": "JOIN",
    f"SELECT DISTINCT ON (kind) kind, mph FROM {WINDOW}": "DISTINCT ON",
    f"SELECT mph FROM {WINDOW} ORDER BY mph LIMIT 3 BY kind": "LIMIT … BY",
    f"SELECT mph FROM {WINDOW} LIMIT 10 PERCENT": "PERCENT",
    f"SELECT mph FROM {WINDOW} ORDER BY mph WITH FILL": "WITH FILL",
    f"SELECT kind FROM {WINDOW} GROUP BY kind WITH TOTALS": "WITH TOTALS",
    f"SELECT kind FROM {WINDOW} GROUP BY kind WITH ROLLUP WITH CUBE": "ROLLUP and CUBE",
    "SELECT mph FROM traffic START WITH mph = 1 CONNECT BY PRIOR mph = mph": "CONNECT BY",
    "SELECT mph FROM traffic CONNECT BY mph = mph": "CONNECT BY",
    "SELECT mph FROM traffic VERSION AS OF 3": "VERSION AS OF",
    "SELECT mph FROM traffic TIMESTAMP AS OF '2026-01-01'": "TIMESTAMP AS OF",
    "SELECT mph FROM traffic FOR SYSTEM_TIME AS OF '2026-01-01'": "TIMESTAMP AS OF",
    "SELECT mph FROM traffic FOR VERSION AS OF 3": "VERSION AS OF",
    "SELECT mph FROM traffic TABLESAMPLE (10 ROWS)": "TABLESAMPLE",
    "SELECT mph FROM traffic t TABLESAMPLE (10 PERCENT) REPEATABLE (3)": "TABLESAMPLE",
    f"SELECT mph FROM {INSIDE} TABLESAMPLE (10 PERCENT)": "TABLESAMPLE",
    "SELECT mph FROM traffic, LATERAL (SELECT mph) x": "LATERAL",
    "SELECT mph FROM traffic JOIN LATERAL (SELECT mph) x": "LATERAL",
    f"SELECT mph FROM {WINDOW} CLUSTER BY mph": "CLUSTER BY",
    f"SELECT mph FROM {WINDOW} DISTRIBUTE BY mph": "DISTRIBUTE BY",
    f"SELECT mph FROM {WINDOW} SORT BY mph": "SORT BY",
    "SELECT /*+ BROADCAST(r) */ mph FROM traffic t JOIN roads r ON r.id = t.mph": "hint",
    "SELECT /*+ COALESCE(3) */ mph FROM traffic": "hint",
    "SELECT mph FROM traffic WITH (NOLOCK)": "HINTS",
    "SELECT mph FROM traffic FOR UPDATE": "FOR UPDATE",
    "SELECT mph FROM traffic FOR SHARE": "FOR UPDATE/SHARE",
    "SELECT mph FROM traffic AT (TIMESTAMP => 1)": "AT and BEFORE",
    "SELECT mph FROM traffic CHANGES (INFORMATION => DEFAULT) AT (TIMESTAMP => 1)": "CHANGES",
    "SELECT AS STRUCT mph FROM traffic": "KIND",
    "SELECT * REPLACE (mph AS mph) FROM traffic": "REPLACE",
    "SELECT * RENAME (mph AS speed) FROM traffic": "RENAME",
    "SELECT * ILIKE 'm%' FROM traffic": "ILIKE",
    "WITH RECURSIVE q AS (SELECT mph FROM traffic) SELECT mph FROM q": "WITH RECURSIVE",
    "WITH q AS MATERIALIZED (SELECT mph FROM traffic) SELECT mph FROM q": "MATERIALIZED",
    "WITH q(mph) USING KEY (mph) AS (SELECT mph FROM traffic) SELECT mph FROM q": "USING KEY",
    "WITH q AS (SELECT ts FROM traffic) SEARCH DEPTH FIRST BY ts SET o SELECT ts FROM q": "SEARCH",
    "WITH q AS (SELECT mph FROM traffic) CYCLE mph SET c USING p SELECT mph FROM q": "CYCLE",
    "SELECT mph FROM traffic UNION ALL CORRESPONDING SELECT mph FROM south": "CORRESPONDING",
    "SELECT mph FROM traffic FULL UNION ALL BY NAME SELECT mph FROM south": "FULL",
    "SELECT mph FROM traffic UNION ALL SELECT mph FROM south ORDER BY mph": "ORDER BY",
    "(SELECT mph FROM traffic) LIMIT 3": "LIMIT",
    f"SELECT mph FROM ({INSIDE} LIMIT 3) q": "LIMIT",
    "SELECT mph FROM traffic t ASOF JOIN roads r ON t.mph = r.id": "ASOF",
    "SELECT mph FROM traffic t STRAIGHT_JOIN roads r ON t.mph = r.id": "STRAIGHT",
    "SELECT mph FROM traffic WHERE mph IN (SELECT DISTINCT ON (name) id FROM roads)": "DISTINCT ON",
    f"SELECT mph FROM {WINDOW} FETCH FIRST 3 ROWS WITH TIES": "WITH TIES",
    f"SELECT mph FROM {WINDOW} FETCH FIRST 3 PERCENT ROWS ONLY": "PERCENT",
}
# What prints in another form is read again, and its places are not the user's.
REPRINTED = (
    f"SELECT mph FROM {INSIDE} AS q PIVOT",
    "SELECT mph FROM traffic FOR",
)


@pytest.mark.parametrize(("select", "words"), REFUSED.items())
def test_a_clause_that_nobody_uses_is_refused_by_its_name_and_place(
    select: str, words: str
) -> None:
    with pytest.raises(PenstockError) as refused:
        bind(select)
    assert words in refused.value.message
    assert refused.value.place is not None or select.startswith(REPRINTED)


def test_every_argument_of_a_node_is_used_or_refused() -> None:
    for kind, consumed in CONSUMED.items():
        assert consumed.names - OURS <= kind.arg_types.keys()
        for name in kind.arg_types.keys() - consumed.names:
            node = kind(**{name: exp.Literal.string("given")})
            with pytest.raises(PenstockError):
                refuse_unread(node)
            node.set(name, [exp.Literal.string("given")])
            with pytest.raises(PenstockError):
                refuse_unread(node)


def test_every_node_that_a_relation_may_be_is_used_or_refused() -> None:
    for kind in set(_kinds(exp.Expression)) - CONSUMED.keys():
        for above in (exp.From, exp.Join, exp.Subquery, exp.CTE, exp.Union):
            with pytest.raises(PenstockError):
                refuse_unread(above(this=kind()))


def test_every_argument_that_holds_a_clause_is_looked_into() -> None:
    deep = parse_select("SELECT mph FROM traffic").copy()
    for kind, consumed in CONSUMED.items():
        for name in consumed.relations | consumed.clauses:
            odd = exp.Select(expressions=[exp.Star()], connect=exp.Connect())
            with pytest.raises(PenstockError):
                refuse_unread(kind(**{name: odd}))
            refuse_unread(kind(**{name: deep.copy()}))


def test_a_name_of_an_inner_with_hides_nothing_outside() -> None:
    inner = "(WITH traffic AS (SELECT at AS ts, mph FROM south) SELECT mph FROM traffic) AS q"
    root = bind(f"SELECT mph FROM {inner} UNION ALL SELECT mph FROM traffic")
    assert [each.stream for each in _scans(root)] == ["south", "traffic"]
    root = bind("WITH traffic AS (SELECT at, mph FROM south) (SELECT mph FROM traffic)")
    assert [each.stream for each in _scans(root)] == ["south"]


def _scans(root: Operator) -> list[Scan]:
    return [node for node in walk(root) if isinstance(node, Scan)]


def _kinds(kind: type[exp.Expr]) -> Iterator[type[exp.Expr]]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)
