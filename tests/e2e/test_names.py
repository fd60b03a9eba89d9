"""Whatever users call their columns, answers are those under plain names.

The names are all that occur in the SQL that Penstock wrote for the same queries, keywords and
functions among them, with and without what sets ours apart, and some that no one would choose.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.client import Connection
from penstock.errors import BadNameError
from penstock.model.own_names import PREFIX, is_own
from penstock.model.schema import quoted
from tests.e2e.support import bag, figures, finish, results, until
from tests.examples import IS_WHOLE

pytestmark = pytest.mark.spark

ODD = ("a.b", "{0}", "a b", "%s", "'", "ä", "_n", "__m", "`", "1", "_seq", "emitted", "_kept")
KEYWORDS = ("select", "from", "where", "and", "order", "group", "window", "null", "true", "case")
AGGREGATES = (
    "sum({0})",
    "avg({0})",
    "max({0})",
    "first({0})",
    "stddev({0})",
    "collect_list({0})",
    "count(DISTINCT {0})",
    "max_by({0}, {0})",
    "count({0}) FILTER (WHERE {0} > 1)",
    "aggregate(collect_list({0}), 0L, (s, x) -> s + x)",
)
# Columns of events and windows: where both could be meant, users are told.
TOLD = ("_start", "_end", "window_start", "window_end")
ROWS = 24
WIDE = 136  # columns; more than there are names
BUNDLED = 34  # columns that one query of the bundle compares


def queries(v: str, c: Sequence[str]) -> dict[str, str]:
    """Return one query of every form; in the nightly run each uses all columns.

    Otherwise an eighth of them is in each form, another one in the next, so that every column is
    in several forms.
    """
    if IS_WHOLE:
        return every_form(v, c)
    eighths = [every_form(v, [*c[:4], *c[4 + first :: 8]]) for first in range(8)]
    return {name: eighths[place % 8][name] for place, name in enumerate(eighths[0])}


def every_form(v: str, c: Sequence[str]) -> dict[str, str]:
    """Return queries that use these columns, over a stream `v`, and a table of the same columns."""
    a, b, d, e = c[:4]
    shown = ", ".join(f"{each} AS o{n}" for n, each in enumerate(c))
    calls = [AGGREGATES[n % len(AGGREGATES)].format(each) for n, each in enumerate(c)]
    sums = ", ".join(f"{each} AS o{n}" for n, each in enumerate(calls))
    some = " OR ".join(f"{each} = 1" for each in c)
    mine = ", ".join(f"x.{each} AS o{n}" for n, each in enumerate(c))
    both = ", ".join(f"x.{each} - y.{each} AS o{n}" for n, each in enumerate(c))
    met = f"x.{a} = y.{a} AND x.{b} <= y.{d} AND (x.{e} < 3 OR y.{e} >= 3)"
    found = {
        "filter": f"SELECT {shown}, s1.s1 AS f FROM {v} WHERE ({some}) AND s1.x0 > 1",
        "grouped": f"SELECT window_start, {a} AS g, {sums} FROM {v} [RANGE 6 SECONDS SLIDE 2 "
        f"SECONDS] GROUP BY {a}, {b} HAVING max({d}) >= 0",
        "holistic": f"SELECT {sums}, percentile({a}, 0.5) AS p FROM {v} [RANGE 8 SECONDS] "
        f"GROUP BY {b}",
        "content": f"SELECT window_start, {shown} FROM {v} [RANGE 5 SECONDS] ORDER BY {a} DESC, "
        f"{b}, {d}, {e}, {', '.join(c[4:])} LIMIT 3",
        "distinct": f"SELECT DISTINCT {a}, {b} % 2 AS h FROM {v} [RANGE 9 SECONDS]",
        "over": f"SELECT window_start, {a} AS g, sum({b}) AS n, rank() OVER (PARTITION BY "
        f"window_start ORDER BY sum({b}) DESC) AS r FROM {v} [RANGE 7 SECONDS] GROUP BY {a}",
        "session": f"SELECT {a} AS g, {sums} FROM {v} [SESSION GAP 2 SECONDS] GROUP BY {a}",
        "when": f"SELECT {b} AS g, {sums} FROM {v} [WHEN sum({a}) > 5 OR count({d}) > 4] "
        f"GROUP BY {b}",
        "keyed": f"SELECT {a} AS g, {sums} FROM {v} [PARTITION BY {a} ROWS 3 SLIDE 2] GROUP BY {a}",
        "sets": f"SELECT {a} AS g, {b} AS h, grouping_id() AS i, sum({d}) AS n FROM {v} "
        f"[RANGE 9 SECONDS] GROUP BY CUBE ({a}, {b})",
        "join": f"SELECT {both} FROM {v} [RANGE 3 SECONDS] AS x JOIN {v}_2 [RANGE 3 SECONDS] AS y "
        f"ON {met}",
        "left": f"SELECT {both} FROM {v} [RANGE 3 SECONDS] AS x LEFT JOIN {v}_2 [RANGE 3 SECONDS] "
        f"AS y ON {met}",
        "semi": f"SELECT {mine} FROM {v} [RANGE 3 SECONDS] AS x LEFT SEMI JOIN {v}_2 "
        f"[RANGE 3 SECONDS] AS y ON {met}",
        "rows": f"SELECT {both} FROM {v} [ROWS 4] AS x JOIN {v}_2 [ROWS 4] AS y ON {met}",
        "hops": f"SELECT window_start, {both} FROM {v} [RANGE 4 SECONDS SLIDE 2 SECONDS] AS x "
        f"JOIN {v}_2 [RANGE 4 SECONDS SLIDE 2 SECONDS] AS y ON {met}",
        "table": f"SELECT {both} FROM {v} AS x JOIN {v}_t AS y ON x.{a} >= y.{a} "
        f"AND x.{b} <= y.{d}",
        "in": f"SELECT {shown} FROM {v} WHERE {a} IN (SELECT {b} FROM {v}_t WHERE {d} < 3) "
        f"AND {e} <= (SELECT max({e}) FROM {v}_t)",
        "modified": f"SELECT {shown}, adiff({a}) AS d FROM {v}",
        "except": f"SELECT ts, {shown} FROM {v} EXCEPT SELECT ts, {shown} FROM {v}_2",
        "lambda": f"SELECT transform(array(1, 2), {a} -> {a} + x.{a}) AS o FROM {v} AS x",
        "seen": f"SELECT {mine} FROM {v}_ab AS x",
    }
    for first in range(0, len(c), BUNDLED):
        for low in (0, 1):  # all of its columns are compared with two constants
            held = (f"{each} >= -{low}" for each in c[first + 1 : first + BUNDLED])
            where = " AND ".join((f"{c[first]} > {low}", *held))
            found[f"bundled_{first}_{low}"] = (
                f"SELECT window_start, count(*) AS n FROM {v} [RANGE 4 SECONDS] WHERE {where}"
            )
    return found


def defined(ps: Connection, v: str, names: Sequence[str], path: Path) -> None:
    """Make the streams, the table, an event and the queries over columns of these names."""
    columns = ", ".join(f"{quoted(name)} INT" for name in names)
    fields = "s1: INT, x0: INT"
    for stream in (v, f"{v}_2"):
        ps.sql(
            f"CREATE STREAM {stream} (ts TIMESTAMP, {columns}, s1 STRUCT<{fields}>) "
            "TIMESTAMP BY ts FROM push()"
        )
    pq.write_table(
        pa.table({name: pa.array([n % 4], pa.int32()) for n, name in enumerate(names)}), path
    )
    ps.sql(f"CREATE TABLE {v}_t FROM files(path => '{path}', format => 'parquet')")
    a, b = map(quoted, names[:2])
    shown = ", ".join(map(quoted, names))
    ps.sql(f"CREATE EVENT {v}_a AS SELECT {shown} FROM {v} WHERE {a} > 1")
    ps.sql(f"CREATE EVENT {v}_b AS SELECT {shown} FROM {v}_2 WHERE {b} >= 1")
    ps.sql(
        f"CREATE EVENT {v}_ab AS SELECT x.* FROM {v}_a AS x SEQ {v}_b AS y WITHIN INTERVAL 1 MINUTE"
    )
    for name, select in queries(v, list(map(quoted, names))).items():
        ps.sql(f"CREATE QUERY {v}_{name} AS {select}")


def rows(names: Sequence[str], shift: int) -> list[dict[str, Any]]:
    """Return rows whose columns differ in a way that does not depend on the names."""
    return [
        {"ts": f"2026-01-01T00:00:{n:02d}Z"}
        | {name: (n * (place + 3) + place // 3 + shift) % 4 for place, name in enumerate(names)}
        | {"s1": {"s1": n, "x0": n % 4}}
        for n in range(ROWS)
    ]


def answers(ps: Connection, v: str, names: Sequence[str], path: Path) -> dict[str, Any]:
    """Return what all queries give, pushed in two trains."""
    defined(ps, v, names, path)
    for shift, stream in enumerate((v, f"{v}_2")):
        made = rows(names, shift)
        ps.push(stream, made[: ROWS // 2])
        ps.push(stream, made[ROWS // 2 :])
        ps.end(stream)
    finish(ps)
    return {name: bag(results(ps, f"{v}_{name}")) for name in queries(v, list(map(quoted, names)))}


def names_in(texts: set[str]) -> list[str]:
    """Return our names in SQL texts as users may have them, and the names that stand plainly."""
    ours = {each for text in texts for each in re.findall(rf"\b{PREFIX}(\w+)", text)}
    plainly = {each for text in texts for each in re.findall(r"\b(?:AS|\.) ?(\w+)\b", text)}
    nodes = re.compile(
        r"[0-9a-f]{12,16}|table_|rule_|once_|parts_|^\d|[2-9]|\d\d"
    )  # of this run, or many
    found = {each.lower() for each in ours | plainly if not is_own(each)}
    found = {each for each in found if not nodes.search(each)}
    return sorted(found - {"ts", "s1", *ODD, *KEYWORDS, *TOLD})


@pytest.mark.timeout(900)
def test_no_name_of_a_column_changes_an_answer(ps: Connection, tmp_path: Path) -> None:
    texts: set[str] = set()
    run = SparkSession.sql

    def recorded(self: SparkSession, text: str, *given: Any, **named: Any) -> Any:
        texts.add(text)
        return run(self, text, *given, **named)

    plain = [f"q{n}q" for n in range(WIDE)]
    with mock.patch.object(SparkSession, "sql", recorded):
        plainly = answers(ps, "v", plain, tmp_path / "v.parquet")
    assert all(plainly.values()), [name for name, found in plainly.items() if not found]
    odd = [*KEYWORDS, *ODD, *(each for each in names_in(texts) if each not in plain)]
    assert {"p", "s", "i", "k0", "a0", "pane", "input", "t", "x"} <= set(odd)
    assert len(odd) <= WIDE, len(odd)
    oddly = answers(ps, "u", [*odd, *plain[len(odd) :]], tmp_path / "u.parquet")
    for name, found in plainly.items():
        assert oddly[name] == found, name


def has_given(ps: Connection, query: str, count: int) -> bool:
    return bool(figures(ps, query)["rows_out"] == count)


def test_no_name_changes_what_rules_do_punctuations_close_and_comes_early(ps: Connection) -> None:
    odd = [*KEYWORDS, *ODD, "p", "s", "i", "k0", "a0", "input", "t", "x", "n", "l", "r", "made"]
    found = {}
    for v, names in (("v", [f"q{n}q" for n in range(len(odd))]), ("u", odd)):
        c = list(map(quoted, names))
        columns = ", ".join(f"{each} INT" for each in c)
        shown = ", ".join(f"{each} AS o{n}" for n, each in enumerate(c))
        some = " OR ".join(f"{each} = 1" for each in c)
        most = ", ".join(f"max({each}) AS m{n}" for n, each in enumerate(c))
        windows = f"SELECT {most} FROM {v} [RANGE 6 SECONDS] GROUP BY {c[0]}, {c[1]}"
        ps.sql(f"""
            CREATE STREAM {v} (ts TIMESTAMP, {columns}) TIMESTAMP BY ts FROM push();
            CREATE STREAM {v}_2 ({columns}) FROM push();
            CREATE RULE {v}_rule ON {v} WHEN {c[0]} > 1 AND ({some}) AND sqrt({c[-1]}) >= 0
              DO INSERT INTO {v}_2 SELECT {", ".join(f"{each} + 1 AS {each}" for each in c)};
            CREATE QUERY {v}_fired AS SELECT {shown} FROM {v}_2;
            CREATE QUERY {v}_closed AS {windows};
            CREATE QUERY {v}_early AS {windows} EMIT EARLY EVERY INTERVAL 2 SECONDS
              ALLOWED LATENESS INTERVAL 1 SECOND;
        """)
        ps.push(v, [{name: row[name] for name in ("ts", *names)} for row in rows(names, 0)])
        ps.punctuate(v, f"{c[1]} = 3")
        ps.end(v)
        fires = sum(row[names[0]] > 1 and 1 in row.values() for row in rows(names, 0))
        until(ps, partial(has_given, ps, f"{v}_fired", fires))
        ps.end(f"{v}_2")
        finish(ps)
        early = results(ps, f"{v}_early")
        final = early.filter(pc.equal(early["emitted"], "final"))  # how many are early depends
        found[v] = [bag(results(ps, f"{v}_{each}")) for each in ("fired", "closed")] + [bag(final)]
    assert all(found["v"])
    assert found["u"] == found["v"]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE STREAM t (ts TIMESTAMP, _penstock_a0 INT) FROM push()",
        "CREATE STREAM _penstock_i (n INT) FROM push()",
        "CREATE QUERY q AS SELECT n AS `_Penstock_k0` FROM s",
        "CREATE QUERY q AS SELECT _penstock_l.n FROM s AS _penstock_l",
        "SELECT transform(array(1), _penstock_x -> 1)",
    ],
)
def test_names_of_ours_are_refused(ps: Connection, statement: str) -> None:
    with pytest.raises(BadNameError) as refused:
        ps.sql(statement)
    assert refused.value.code == "BAD_NAME"
    assert refused.value.place is not None


def test_a_struct_called_as_a_side_of_a_lateral_view_is_itself(ps: Connection) -> None:
    for name in ("l", "r"):
        ps.sql(f"CREATE STREAM of_{name} (x ARRAY<INT>, {name} STRUCT<x: ARRAY<INT>>) FROM push();")
        ps.sql(
            f"CREATE QUERY q_{name} AS SELECT e FROM of_{name} "
            f"LATERAL VIEW explode({name}.x) t AS e"
        )
        ps.push(f"of_{name}", [{"x": [1], name: {"x": [2, 3]}}])
        ps.end(f"of_{name}")
    finish(ps)
    for name in ("l", "r"):
        assert bag(results(ps, f"q_{name}")) == {(2,): 1, (3,): 1}
