from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.server.pg.catalog.answers import Catalog
from penstock.server.pg.catalog.relations import Relation, SessionFacts, numbered
from penstock.server.pg.catalog.tables import TABLES, columns_of
from penstock.server.pg.values import types
from penstock.server.pg.values.types import Column

HITS = Relation(
    "public",
    "hits",
    "stream",
    (
        Column("ts", types.TIMESTAMPTZ),
        Column("Car", types.TEXT),
        Column("d", types.NUMERIC, (10 << 16 | 2) + 4),
        Column("xs", types.ARRAY_OF[types.INT8]),
    ),
)
FAST = Relation("public", "fast", "query", (Column("Car", types.TEXT),), "SELECT Car FROM hits")
VIEW = Relation("system", "queries", "view", (Column("query", types.TEXT),), "queries")
FACTS = SessionFacts("me", "penstock", 42, "PostgreSQL 14.0", (("search_path", "public"),))
CATALOG = Catalog(lambda: (HITS, FAST, VIEW))


def ask(text: str) -> list[tuple[Any, ...]]:
    rows = CATALOG.ask(text, FACTS).rows
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def number(relation: Relation) -> int:
    return next(n for n, each in numbered((HITS, FAST, VIEW)) if each is relation)


@pytest.mark.parametrize("schema", TABLES)
def test_every_table_can_be_read_whole_with_its_types(schema: str) -> None:
    for table, written in TABLES[schema].items():
        answer = CATALOG.ask(f"SELECT * FROM {schema}.{table}", FACTS)
        assert {c.name: c.type for c in answer.columns} == columns_of(written)


def test_relations_and_columns_are_found() -> None:
    tables = "SELECT table_schema, table_name, table_type FROM information_schema.tables"
    assert ask(f"{tables} WHERE table_schema = 'public' ORDER BY 2") == [
        ("public", "fast", "VIEW"),
        ("public", "hits", "BASE TABLE"),
    ]
    columns = "SELECT column_name, data_type, numeric_scale FROM information_schema.columns"
    assert ask(f"{columns} WHERE table_name = 'hits' ORDER BY ordinal_position") == [
        ("ts", "timestamp with time zone", None),
        ("Car", "text", None),
        ("d", "numeric", 2),
        ("xs", "ARRAY", None),
    ]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT 1, 'x', TRUE, NULL", [(1, "x", True, None)]),
        ("SELECT current_user, current_schema()", [("me", "public")]),
        ("SELECT pg_catalog.pg_backend_pid()", [(42,)]),
        ("SELECT 'hits'::regclass::oid = 'public.hits'::regclass", [(True,)]),
        ("SELECT c.oid::regclass FROM pg_class c WHERE relkind = 'r'", [("hits",)]),
        ("SELECT relname FROM pg_class WHERE relname ~ '^HI'", []),
        ("SELECT relname FROM pg_class WHERE relname ~* '^HI'", [("hits",)]),
        ("SELECT relname FROM pg_class WHERE relname OPERATOR(pg_catalog.~) '^h'", [("hits",)]),
        ("SELECT relname FROM pg_class WHERE relname LIKE 'H%'", []),
        ("SELECT relname FROM pg_class WHERE relname ILIKE 'H%'", [("hits",)]),
        ("SELECT relname FROM pg_class WHERE relname LIKE 'h\\_ts'", []),
        ("SELECT relname FROM pg_class WHERE relkind = ANY (ARRAY['r', 'm'])", [("hits",)]),
        ("SELECT relname FROM pg_class WHERE relkind = ANY ('{r,m}')", [("hits",)]),
        ("SELECT relname FROM pg_class WHERE relkind <> ALL (ARRAY['v', 'm'])", [("hits",)]),
        ("SELECT relname FROM pg_class WHERE relname LIKE 'h!_%' ESCAPE '!'", []),
        ("SELECT relname FROM pg_class WHERE relname LIKE 'h_t%'", [("hits",)]),
        ("SELECT repeat FROM (SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' AS repeat) t "
         "WHERE repeat ~ '^(a+)+$' AND EXISTS (SELECT 1 FROM pg_class)", []),
        ("SELECT string_agg(word, ',') FROM pg_get_keywords() WHERE word ~ 'id'", [("slide",)]),
        ("SELECT setting FROM pg_show_all_settings() s WHERE s.name LIKE 's%'", [("public",)]),
        ("SELECT count(*) FROM pg_index", [(0,)]),
        ("SELECT (string_to_array('a,b', ','))[2]", [("b",)]),
        ("SELECT s[i] FROM generate_series(2, 2) AS i, string_to_array('a,b', ',') s", [("b",)]),
        ("SELECT x FROM unnest(ARRAY['a', 'b']) AS x", [("a",), ("b",)]),
        ("SELECT ARRAY(SELECT relkind FROM pg_class ORDER BY 1)", [(["r", "v", "v"],)]),
        ("SELECT format_type(1700, 655366)", [("numeric(10,2)",)]),
        ("SELECT CASE WHEN relkind = 'r' THEN 'a' END FROM pg_class WHERE relkind = 'r'", [("a",)]),
        ("SELECT pg_get_viewdef('fast'::regclass)", [("SELECT Car FROM hits",)]),
        ("SELECT obj_description('hits'::regclass, 'pg_class')", [("stream",)]),
        ("WITH t AS (SELECT 1 AS a) SELECT a, version() FROM t", [(1, "PostgreSQL 14.0")]),
        ("SELECT 1 UNION ALL SELECT 2", [(1,), (2,)]),
    ],
)  # fmt: skip
def test_questions_of_tools_are_answered(text: str, rows: list[tuple[Any, ...]]) -> None:
    assert ask(text) == rows


def test_what_nothing_is_known_of_is_empty_with_its_columns() -> None:
    answer = CATALOG.ask(
        "SELECT (information_schema._pg_expandarray(i.indkey)).n AS key, i.indisunique "
        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index i ON c.oid = i.indrelid",
        FACTS,
    )
    assert [column.name for column in answer.columns] == ["key", "indisunique"]
    assert answer.columns[1].type is types.BOOL
    assert answer.rows.num_rows == 0


def test_columns_are_named_and_typed_as_postgresql_does() -> None:
    answer = CATALOG.ask(
        "SELECT relname, pg_catalog.pg_table_is_visible(oid), relkind = 'r', 1, 'a'::text, "
        "CASE WHEN TRUE THEN relhasindex END, count(*) OVER () FROM pg_class",
        FACTS,
    )
    assert [(column.name, column.type.name) for column in answer.columns] == [
        ("relname", "name"),
        ("pg_table_is_visible", "bool"),
        ("?column?", "bool"),
        ("?column?", "int4"),
        ("text", "text"),
        ("case", "bool"),
        ("count", "int8"),
    ]


def test_a_relation_keeps_its_number_when_others_come() -> None:
    before = {r.name: n for n, r in numbered((HITS,))}
    assert number(HITS) == before["hits"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT * FROM pg_catalog.nothing", "NOT_YET"),
        ("SELECT * FROM pg_class, hits", "BAD_QUERY"),
        ("SELECT nothing FROM pg_class", "BAD_QUERY"),
        ("SELECT nothing() FROM pg_class", "BAD_QUERY"),
        ("SELECT * FROM pg_class WHERE", "SQL_SYNTAX"),
        ("SELECT 1; DROP TABLE pg_class", "SQL_SYNTAX"),
        ("DELETE FROM pg_class", "SQL_SYNTAX"),
        ("SELECT * INTO x FROM pg_class", "SQL_SYNTAX"),
        ("SELECT load_extension('x') FROM pg_class", "BAD_QUERY"),
        ("SELECT randomblob(100000000) FROM pg_class", "BAD_QUERY"),
        ("SELECT relname ~ '(' FROM pg_class", "BAD_QUERY"),
        ("SELECT * FROM sqlite_master, pg_class", "BAD_QUERY"),
    ],
)
def test_anything_else_is_refused(text: str, code: str) -> None:
    with pytest.raises(PenstockError) as caught:
        CATALOG.ask(text, FACTS)
    assert caught.value.code == code


def test_what_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.server.pg.catalog.answers.SECONDS", 0.05)
    endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"
    with pytest.raises(PenstockError) as caught:
        CATALOG.ask(f"{endless} SELECT count(*) FROM t, pg_class", FACTS)
    assert caught.value.code == "TIMED_OUT"


def test_an_answer_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.server.pg.catalog.answers.MOST_ROWS", 1_000)
    endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"
    with pytest.raises(PenstockError) as caught:
        CATALOG.ask(f"{endless} SELECT n FROM t", FACTS)
    assert caught.value.code == "BAD_QUERY"
