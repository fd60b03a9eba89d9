import pytest

from penstock.errors import PenstockError
from penstock.sql import parse, parse_select


def refused(text: str) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        parse(text)
    assert caught.value.place is not None
    assert caught.value.place.source == text
    return caught.value


STREAM = "CREATE STREAM s (ts TIMESTAMP, a INT) "
EARLY = "CREATE QUERY q AS SELECT a FROM s "
CASES = [
    # statements
    ("BLA", "SQL_SYNTAX", 1),
    ("INSERT INTO t VALUES (1)", "SQL_SYNTAX", 1),
    ("FROM t SELECT a", "SQL_SYNTAX", 1),
    ("DROP VIEW v", "SQL_SYNTAX", 6),
    ("DROP STREAM", "SQL_SYNTAX", 12),
    ("DROP STREAM s t", "SQL_SYNTAX", 15),
    ("STOP left_turns", "SQL_SYNTAX", 6),
    ("RESUME QUERY", "SQL_SYNTAX", 13),
    ("SHOW", "SQL_SYNTAX", 5),
    ("SHOW THINGS", "SQL_SYNTAX", 6),
    ("SHOW SHARING q", "SQL_SYNTAX", 14),
    ("DESCRIBE", "SQL_SYNTAX", 9),
    ("EXPLAIN", "SQL_SYNTAX", 8),
    ("EXPLAIN DROP STREAM s", "SQL_SYNTAX", 9),
    ("EXPLAIN ALL AS", "SQL_SYNTAX", 15),
    ("EXPLAIN ALL AS YAML", "SQL_SYNTAX", 16),
    ("EXPLAIN ALL AS 'json'", "SQL_SYNTAX", 16),
    ("EXPLAIN ALL JSON", "SQL_SYNTAX", 13),
    ("EXPLAIN ALL AS DOT x", "SQL_SYNTAX", 20),
    ("EXPLAIN CREATE TABLE t FROM f()", "SQL_SYNTAX", 9),
    # CREATE
    ("CREATE VIEW v", "SQL_SYNTAX", 8),
    ("CREATE OR REPLACE TABLE IF NOT EXISTS t FROM f()", "SQL_SYNTAX", 1),
    ("CREATE STREAM select (a INT) FROM f()", "SQL_SYNTAX", 15),
    ("CREATE STREAM `` (a INT) FROM f()", "SQL_SYNTAX", 15),
    ("CREATE STREAM a.b (a INT) FROM f()", "SQL_SYNTAX", 16),
    ("CREATE STREAM s FROM f()", "SQL_SYNTAX", 17),
    ("CREATE TABLE t AS SELECT 1", "SQL_SYNTAX", 16),
    # columns
    ("CREATE STREAM s () FROM f()", "SQL_SYNTAX", 18),
    ("CREATE STREAM s (a INT,) FROM f()", "SQL_SYNTAX", 24),
    ("CREATE STREAM s (a INT NOT NULL) FROM f()", "SQL_SYNTAX", 24),
    ("CREATE STREAM s (a INT, A STRING) FROM f()", "NAME_TAKEN", 25),
    ("CREATE STREAM s (a STRUCT<x: INT, X: INT>) FROM f()", "NAME_TAKEN", 35),
    ("CREATE STREAM s (a INTT) FROM f()", "TYPE_MISMATCH", 20),
    ("CREATE STREAM s (a ARRAY<BLOB>) FROM f()", "TYPE_MISMATCH", 26),
    ("CREATE STREAM s (a ARRAY) FROM f()", "SQL_SYNTAX", 25),
    ("CREATE STREAM s (a MAP<INT>) FROM f()", "SQL_SYNTAX", 27),
    ("CREATE STREAM s (a DECIMAL(39, 2)) FROM f()", "TYPE_MISMATCH", 20),
    ("CREATE STREAM s (a DECIMAL(3, 4)) FROM f()", "TYPE_MISMATCH", 20),
    ("CREATE STREAM s (a CHAR) FROM f()", "TYPE_MISMATCH", 20),
    ("CREATE STREAM s (a TIME(7)) FROM f()", "TYPE_MISMATCH", 20),
    ("CREATE STREAM s (a DECIMAL(x)) FROM f()", "SQL_SYNTAX", 28),
    # a stream's clauses
    (STREAM, "SQL_SYNTAX", 38),
    (STREAM + "FROM f() FROM g()", "SQL_SYNTAX", 48),
    (STREAM + "TIMESTAMP BY b FROM f()", "UNKNOWN_COLUMN", 52),
    (STREAM + "TIMESTAMP BY a FROM f()", "TYPE_MISMATCH", 52),
    (STREAM + "SLACK 2 SECONDS FROM f()", "SQL_SYNTAX", 45),
    (STREAM + "SLACK INTERVAL -2 SECONDS FROM f()", "BAD_OPTION", 45),
    (STREAM + "SLACK INTERVAL 2 MONTHS FROM f()", "BAD_OPTION", 45),
    (STREAM + "SLACK INTERVAL 2 BANANAS FROM f()", "SQL_SYNTAX", 56),
    (STREAM + "VALID FOR INTERVAL 0 SECONDS FROM f()", "BAD_OPTION", 49),
    (STREAM + "VALID INTERVAL 1 SECOND FROM f()", "SQL_SYNTAX", 45),
    (STREAM + "ORDERED BY b FROM f()", "UNKNOWN_COLUMN", 50),
    ("CREATE STREAM s (a STRING) ORDERED BY a FROM f()", "TYPE_MISMATCH", 39),
    (STREAM + "ORDERED BY a SCRAMBLED -1 FROM f()", "BAD_OPTION", 50),
    (STREAM + "ORDERED BY a SCRAMBLED 1.5 FROM f()", "BAD_OPTION", 62),
    (STREAM + "ORDERED BY a SCRAMBLED x FROM f()", "SQL_SYNTAX", 62),
    (STREAM + "ORDERED BY a RATE 0 FROM f()", "BAD_OPTION", 50),
    (STREAM + "ORDERED BY a DUPLICATES 0 FROM f()", "BAD_OPTION", 50),
    (STREAM + "ORDERED BY a RATE 1 RATE 2 FROM f()", "SQL_SYNTAX", 64),
    (STREAM + "ORDERED a FROM f()", "SQL_SYNTAX", 47),
    ("CREATE QUERY q WITH (strategy => 'x') AS SELECT 1", "BAD_OPTION", 22),
    ("CREATE QUERY q WITH (memory => 5) AS SELECT 1", "BAD_OPTION", 22),
    ("CREATE QUERY q WITH (memory => '0 MB') AS SELECT 1", "BAD_OPTION", 22),
    ("CREATE QUERY q WITH (memory => '1 MB', strategy => 'msf') AS SELECT 1", "BAD_OPTION", 21),
    (STREAM + "ARCHIVE FOR INTERVAL 0 DAYS FROM f()", "BAD_OPTION", 51),
    (STREAM + "ARCHIVE FOR INTERVAL -7 DAYS FROM f()", "BAD_OPTION", 51),
    (STREAM + "ARCHIVE FOR INTERVAL 1 MONTH FROM f()", "BAD_OPTION", 51),
    (STREAM + "ARCHIVE FOR 7 DAYS FROM f()", "SQL_SYNTAX", 51),
    (STREAM + "ARCHIVE AFTER INTERVAL 7 DAYS FROM f()", "SQL_SYNTAX", 47),
    (STREAM + "IDLE AFTER INTERVAL 0 SECONDS FROM f()", "BAD_OPTION", 50),
    (STREAM + "IDLE AFTER INTERVAL '-1' DAY FROM f()", "BAD_OPTION", 50),
    (STREAM + "IDLE FOR INTERVAL 1 SECOND FROM f()", "SQL_SYNTAX", 44),
    (STREAM + "IDLE AFTER INTERVAL 1 DAY IDLE AFTER INTERVAL 1 DAY FROM f()", "SQL_SYNTAX", 65),
    # connectors
    ("CREATE TABLE t FROM f", "SQL_SYNTAX", 22),
    ("CREATE TABLE t FROM 'f'()", "SQL_SYNTAX", 21),
    ("CREATE TABLE t FROM f(a = 1)", "SQL_SYNTAX", 25),
    ("CREATE TABLE t FROM f(a => )", "SQL_SYNTAX", 28),
    ("CREATE TABLE t FROM f(a => 1,)", "SQL_SYNTAX", 30),
    ("CREATE TABLE t FROM f(a => 1 b => 2)", "SQL_SYNTAX", 30),
    ("CREATE TABLE t FROM f(a => 1, A => 2)", "BAD_OPTION", 31),
    ("CREATE TABLE t FROM f(a => INTERVAL 1 MONTH)", "BAD_OPTION", 23),
    ("CREATE TABLE t FROM f(a => 1e999)", "BAD_OPTION", 23),
    ("CREATE TABLE t FROM f(a => (SELECT x FROM s [ROWS 3]))", "BAD_QUERY", 23),
    # queries
    ("CREATE QUERY q SELECT 1", "SQL_SYNTAX", 16),
    ("CREATE QUERY q AS", "SQL_SYNTAX", 18),
    ("CREATE QUERY q AS INTO f()", "SQL_SYNTAX", 19),
    ("CREATE QUERY q WITH (max_latancy => 1) AS SELECT 1", "UNKNOWN_OPTION", 22),
    ("CREATE QUERY q WITH (max_latency => 2) AS SELECT 1", "BAD_OPTION", 22),
    ("CREATE QUERY q WITH (max_error => 1) AS SELECT 1", "BAD_OPTION", 22),
    ("CREATE QUERY q WITH (weight => TRUE) AS SELECT 1", "BAD_OPTION", 22),
    ("CREATE QUERY q WITH (weight => -1) AS SELECT 1", "BAD_OPTION", 22),
    ("CREATE QUERY q WITH (weight => 1, max_error => -0.1) AS SELECT 1", "BAD_OPTION", 35),
    ("CREATE QUERY q WITH (max_latency => INTERVAL -1 SECONDS) AS SELECT 1", "BAD_OPTION", 22),
    ("CREATE QUERY q FORCE OR WAIT AS SELECT 1", "SQL_SYNTAX", 16),
    ("CREATE QUERY q OR WAIT FORCE AS SELECT 1", "SQL_SYNTAX", 16),
    ("CREATE OR WAIT QUERY q AS SELECT 1", "SQL_SYNTAX", 8),
    ("CREATE QUERY q AS SELECT a FROM s OR WAIT", "SQL_SYNTAX", 35),
    ("CREATE QUERY q AS SELECT a FROM s FORCE", "SQL_SYNTAX", 35),
    ("CREATE QUERY q AS SELECT a FROM s [RANGE 1 SECOND] FORCE", "SQL_SYNTAX", 52),
    ("CREATE QUERY q AS SELECT a FROM s STOP AFTER 0 TUPLES", "BAD_OPTION", 46),
    ("CREATE QUERY q AS SELECT a FROM s STOP AFTER 1.5 TUPLES", "BAD_OPTION", 46),
    ("CREATE QUERY q AS SELECT a FROM s STOP AFTER INTERVAL 0 DAYS", "BAD_OPTION", 46),
    ("CREATE QUERY q AS SELECT a FROM s STOP AFTER 2 HOURS", "SQL_SYNTAX", 48),
    ("CREATE QUERY q AS SELECT a FROM s STOP AFTER soon", "SQL_SYNTAX", 46),
    ("CREATE QUERY q AS SELECT a FROM s INTO f() INTO f()", "SQL_SYNTAX", 44),
    ("CREATE QUERY q AS SELECT a FROM s INTO f", "SQL_SYNTAX", 41),
    ("CREATE QUERY q AS SELECT a FRM s INTO f()", "SQL_SYNTAX", 28),
    (EARLY + "EMIT EARLY EVERY INTERVAL 0 SECONDS", "BAD_OPTION", 52),
    (EARLY + "EMIT EARLY EVERY INTERVAL -1 SECONDS", "BAD_OPTION", 52),
    (EARLY + "EMIT EARLY INTERVAL 1 SECOND", "SQL_SYNTAX", 46),
    (EARLY + "EMIT EARLY EVERY 1 SECOND", "SQL_SYNTAX", 52),
    (EARLY + "ALLOWED LATENESS INTERVAL 0 DAYS", "BAD_OPTION", 52),
    (EARLY + "ALLOWED LATENESS 1 DAY", "SQL_SYNTAX", 52),
    (EARLY + "ALLOWED LATENESS INTERVAL 1 DAY ALLOWED LATENESS", "SQL_SYNTAX", 67),
    ("CREATE QUERY q WITH (join => 'merge') AS SELECT 1", "BAD_OPTION", 22),
    ("CREATE QUERY q WITH (join => reuse) AS SELECT 1", "BAD_OPTION", 22),
    ("CREATE QUERY q WITH (join => 1) AS SELECT 1", "BAD_OPTION", 22),
    # punctuation
    ("PUNCTUATE", "SQL_SYNTAX", 10),
    ("PUNCTUATE s", "SQL_SYNTAX", 12),
    ("PUNCTUATE s WHERE", "SQL_SYNTAX", 18),
    ("PUNCTUATE s a = 1", "SQL_SYNTAX", 13),
    ("PUNCTUATE s WHERE a = 1 GROUP BY a", "SQL_SYNTAX", 25),
    ("PUNCTUATE s WHERE a IN (SELECT 1)", "BAD_QUERY", 19),
    ("PUNCTUATE s WHERE EXISTS (SELECT 1)", "BAD_QUERY", 19),
    ("PUNCTUATE s WHERE max(a) = 1", "BAD_QUERY", 19),
    ("PUNCTUATE s WHERE row_number() OVER (ORDER BY a) = 1", "BAD_QUERY", 19),
    ("PUNCTUATE s WHERE adiff(a) = 1", "BAD_QUERY", 19),
    ("PUNCTUATE s WHERE adiff(a, b) = 1", "BAD_QUERY", 19),
    # modifiers
    ("SELECT a, 1 + adiff() FROM s", "BAD_QUERY", 15),
    ("SELECT adiff(a, b) FROM s", "BAD_QUERY", 8),
    ("SELECT 1 WHERE rdiff(a, 0.1) > 1", "BAD_QUERY", 16),
    ("SELECT a, aslope(y) FROM s", "BAD_QUERY", 11),
    ("SELECT aslope(y, x, z) FROM s", "BAD_QUERY", 8),
    ("SELECT adiff(*) FROM s", "BAD_QUERY", 8),
    ("SELECT adiff(DISTINCT a) FROM s", "BAD_QUERY", 8),
    ("SELECT adiff((SELECT 1)) FROM s", "BAD_QUERY", 8),
    ("SELECT rdiff(a, sudo => 1) FROM s", "UNKNOWN_OPTION", 8),
    ("SELECT adiff(a, pseudo => 1) FROM s", "UNKNOWN_OPTION", 8),
    ("SELECT rdiff(a, pseudo => 1, PSEUDO => 2) FROM s", "BAD_OPTION", 8),
    ("SELECT adiff(a, profile => 'X') FROM s", "BAD_OPTION", 8),
    ("SELECT adiff(a, profile => O) FROM s", "BAD_OPTION", 8),
    ("SELECT adiff(a) OVER (PARTITION BY k ORDER BY ts) FROM s", "BAD_QUERY", 8),
    ("SELECT adiff(a) OVER (ROWS 1 PRECEDING) FROM s", "BAD_QUERY", 8),
    ("SELECT adiff(a) OVER w FROM s WINDOW w AS (PARTITION BY k)", "BAD_QUERY", 8),
    ("SELECT adiff(a) FILTER (WHERE b) FROM s", "BAD_QUERY", 8),
    ("SELECT a FROM s [WHEN max(adiff(a, b)) > 3]", "BAD_QUERY", 17),
    ("SELECT a FROM s WHERE b IN (SELECT adiff(c, d) FROM t)", "BAD_QUERY", 36),
    # SELECT
    ("SELECT", "SQL_SYNTAX", 7),
    ("SELECT FROM t", "SQL_SYNTAX", 8),
    ("SELECT a, FROM t", "SQL_SYNTAX", 11),
    ("SELECT a FORM t", "SQL_SYNTAX", 10),
    ("SELECT a FROM t WHER a > 1", "SQL_SYNTAX", 17),
    ("SELECT a FROM t WHERE", "SQL_SYNTAX", 22),
    ("SELECT a FROM", "SQL_SYNTAX", 14),
    ("SELECT a INTO t FROM s", "SQL_SYNTAX", 10),
    ("SELECT CAST(a AS BANANA) FROM t", "SQL_SYNTAX", 18),
    ("SELECT ? FROM t", "SQL_SYNTAX", 8),
    ("WITH c AS (DROP STREAM s) SELECT 1", "SQL_SYNTAX", 12),
    ("SELECT * FROM (DESCRIBE t)", "SQL_SYNTAX", 25),
    ("SELECT a FROM t, (SELECT b FRM u)", "SQL_SYNTAX", 28),
    ("SELECT a FROM s LATERAL explode(xs) AS t(x)", "SQL_SYNTAX", 1),
    ("SELECT CAST(a AS FLOAT(x)) FROM t", "SQL_SYNTAX", 1),
    ("SELECT /*+ BROADCAST(') */ a FROM t", "SQL_SYNTAX", 1),
    ("SELECT a FROM ((SELECT b FROM t) [ROWS 3]) AS x", "BAD_WINDOW", 24),
    ("SELECT a FROM ((SELECT 1) [ROWS 3]) [ROWS 4] AS x", "BAD_WINDOW", 24),
    ("SELECT a FROM ((SELECT b FROM t) [ROWS 3] UNION ALL SELECT 2) AS x", "BAD_WINDOW", 24),
    # text
    ("SELECT (a FROM t", "SQL_SYNTAX", 8),
    ("SELECT a) FROM t", "SQL_SYNTAX", 9),
    ("SELECT (a] FROM t", "SQL_SYNTAX", 10),
    ("SELECT a FROM t [ROWS 3", "SQL_SYNTAX", 17),
    ("SELECT 'a FROM t", "SQL_SYNTAX", 8),
    ("SELECT `a FROM t", "SQL_SYNTAX", 8),
    ("SELECT a /* b FROM t", "SQL_SYNTAX", 10),
    ("SELECT X'GG' FROM t", "SQL_SYNTAX", 1),
    ("SELECT '\ud800' FROM t", "SQL_SYNTAX", 9),
]


@pytest.mark.parametrize(("text", "code", "column"), CASES, ids=[case[0] for case in CASES])
def test_a_text_that_is_wrong_is_refused_where_it_is_wrong(
    text: str, code: str, column: int
) -> None:
    error = refused(text)
    assert error.place is not None
    assert (error.code, error.place.line, error.place.column) == (code, 1, column)


HINTS = [
    ("CREATE STRAEM s (a INT) FROM f()", "STREAM"),
    ("CRATE STREAM s (a INT) FROM f()", "CREATE"),
    ("CREATE STREAM s (a INT) FORM f()", "FROM"),
    ("CREATE STREAM s (a TIMESTAMPS) FROM f()", "TIMESTAMP"),
    ("CREATE STREAM s (ts TIMESTAMP, a INT) TIMESTAMP BY tss FROM f()", "TS"),
    ("CREATE STREAM s (a INT) SLACK ADAPTIV FROM f()", "ADAPTIVE"),
    ("CREATE STREAM s (a INT) SLACK INTERVAL 2 SECODNS FROM f()", "SECONDS"),
    ("CREATE QUERY q WITH (max_latancy => INTERVAL 1 DAY) AS SELECT 1", "max_latency"),
    ("CREATE STREAM s (a INT) ARCHVE FOR INTERVAL 1 DAY FROM f()", "ARCHIVE"),
    ("CREATE QUERY q WITH (jion => 'reuse') AS SELECT 1", "join"),
    ("SELECT rdiff(a, psuedo => 1) FROM s", "pseudo"),
    ("SELECT aslope(a, b, profil => 'O') FROM s", "profile"),
    ("PUNCTUAT s WHERE a = 1", "PUNCTUATE"),
    ("DROP QUREY q", "QUERY"),
    ("STOP QUREY q", "QUERY"),
    ("SHOW QUERYS", "QUERIES"),
    ("SELECT a FORM t", "FROM"),
    ("SELECT a FROM t GRUOP BY a", "GROUP"),
    ("SELECT a FROM t [RAGNE 2 MINUTES]", "RANGE"),
]


@pytest.mark.parametrize(("text", "meant"), HINTS, ids=[case[0] for case in HINTS])
def test_a_near_miss_is_hinted_at(text: str, meant: str) -> None:
    assert refused(text).hint == f"did you mean {meant}?"


WHAT_TO_DO = [
    ("CREATE QUERY q WITH (max_error => '5%') AS SELECT 1", "max_error => 0.05"),
    ("CREATE QUERY q WITH (max_error => 5) AS SELECT 1", "max_error => 0.05"),
    ("CREATE QUERY q WITH (max_latency => 2) AS SELECT 1", "INTERVAL 2 SECONDS"),
    ("CREATE QUERY q WITH (weight => 0) AS SELECT 1", "ten times"),
    ("CREATE QUERY q WITH weight => 2 AS SELECT 1", "(name => value)"),
    ("CREATE FORCE QUERY q AS SELECT 1", "before AS"),
    ("CREATE OR WAIT QUERY q AS SELECT 1", "before AS"),
    ("CREATE QUERY q AS SELECT a FROM s OR WAIT", "before AS"),
    ("CREATE QUERY q AS SELECT a FROM s FORCE", "before AS"),
    ("CREATE QUERY q WITH (max_error => 5%) AS SELECT 1", "0.05"),
    ("CREATE QUERY q OR WAIT FORCE AS SELECT 1", "when there is room"),
    ("CREATE QUERY q OR WAIT WITH (weight => 2) AS SELECT 1", "WITH (…) stands before"),
    ("ALTER QUERY q SET (sites => 'driver')", "begins it anew"),
    ("SHOW QOS q", "shows all there is"),
]


@pytest.mark.parametrize("end", ["s AS force", "s `force`", "s ORDER BY force", "s WHERE force"])
def test_force_may_be_a_name(end: str) -> None:
    (statement,) = parse(f"CREATE QUERY q AS SELECT a FROM {end}")
    assert statement is not None


@pytest.mark.parametrize(("text", "words"), WHAT_TO_DO, ids=[text for text, _ in WHAT_TO_DO])
def test_a_contract_that_is_wrong_says_what_to_do(text: str, words: str) -> None:
    assert words in refused(text).hint


def test_a_join_s_mode_is_told_which_there_are() -> None:
    message = refused("CREATE QUERY q WITH (join => 'hash') AS SELECT 1").message
    assert "'recompute'" in message
    assert "'reuse'" in message


def test_a_window_that_never_closes_is_refused() -> None:
    error = refused("SELECT a FROM s [WHEN a > 3]")
    assert error.code == "BAD_WINDOW"
    assert "never closes" in error.message


def test_a_word_that_starts_no_statement_is_told_which_there_are() -> None:
    hint = refused("GRANT STREAM s").hint
    for word in ("CREATE", "DROP", "STOP", "RESUME", "SHOW", "DESCRIBE", "EXPLAIN", "SELECT"):
        assert word in hint


def test_the_place_is_in_the_whole_script() -> None:
    error = refused("SELECT 1;\n\tSELECT 2;\r\n  SELECT a FORM t;")
    assert error.place is not None
    assert (error.place.line, error.place.column) == (3, 12)
    assert error.place.caret() == "  SELECT a FORM t;\n           ^"


def test_an_error_at_the_end_stands_behind_the_last_word() -> None:
    error = refused("SELECT a\nFROM t\nWHERE  -- nothing\n")
    assert error.place is not None
    assert (error.place.line, error.place.column) == (3, 6)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 1000 + "1" + ")" * 1000,
        "SELECT " + "NOT " * 2000 + "a",
        "SELECT " + "f(" * 1000 + "1" + ")" * 1000,
        "SELECT * FROM " + "(SELECT * FROM " * 500 + "t" + ")" * 500,
        "CREATE STREAM s (a " + "ARRAY<" * 2000 + "INT" + ">" * 2000 + ") FROM f()",
    ],
    ids=lambda text: text[:20],
)
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    assert refused(text).code == "SQL_SYNTAX"


def test_what_would_take_years_to_parse_is_refused_soon() -> None:
    joins = " ".join(f"JOIN t{number}" for number in range(60))
    assert refused(f"SELECT * FROM a {joins}").code == "SQL_SYNTAX"


def test_long_statements_are_no_trouble() -> None:
    columns = ", ".join(f"a{number} AS b{number}" for number in range(2000))
    conditions = " AND ".join(f"a > {number}" for number in range(2000))
    assert len(parse(f"SELECT {columns} FROM t WHERE {conditions}")) == 1


@pytest.mark.parametrize(
    "text", ["", "-- nothing", "SELECT 1; SELECT 2", "DROP STREAM s", "VALUES (1)"]
)
def test_one_select_is_one_select(text: str) -> None:
    with pytest.raises(PenstockError) as caught:
        parse_select(text)
    assert caught.value.code == "SQL_SYNTAX"
