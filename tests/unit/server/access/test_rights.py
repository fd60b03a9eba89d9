"""Which role and which streams a statement takes."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.allowed import Allowed
from penstock.errors import ForbiddenError
from penstock.server.access.caller import Caller, Role
from penstock.server.access.rights import Rights
from penstock.sql import CreateQuery, SelectOnce, parse

# What there is: two streams, a table, queries over them, an event and a rule.
KNOWN: Mapping[str, frozenset[str]] = {
    "a": frozenset(),
    "b": frozenset(),
    "t": frozenset(),
    "of_a": frozenset({"a"}),
    "of_of_a": frozenset({"of_a"}),
    "of_both": frozenset({"a", "of_b"}),
    "of_b": frozenset({"b"}),
    "e": frozenset({"of_a"}),
    "r": frozenset({"e", "b"}),
}
READER, WRITER, ADMIN = (Caller(role.name, role) for role in Role)
OF_A = Caller("of_a", Role.WRITE, frozenset({"a"}))


def called(_: SelectOnce | CreateQuery) -> frozenset[str]:
    return frozenset()


def rights(allowed: Allowed | None = None) -> Rights:
    return Rights(KNOWN.get, called, lambda: allowed or Allowed())


def may(caller: Caller, text: str, allowed: Allowed | None = None) -> bool:
    try:
        rights(allowed).require(caller, parse(text))
    except ForbiddenError:
        return False
    return True


QUESTIONS = [
    "SELECT * FROM a",
    "SHOW STREAMS",
    "DESCRIBE a",
    "EXPLAIN of_a",
    "EXPLAIN ALL",
    "EXPLAIN SCHEDULE",
    "EXPLAIN ESTIMATE SELECT * FROM a",
]
CHANGES = [
    "CREATE STREAM s (id INT) FROM push()",
    "CREATE STREAM s (id INT) FROM generator(rate => 1, id => 'x')",
    "CREATE QUERY q AS SELECT * FROM a",
    "CREATE EVENT ev AS SELECT * FROM a SEQ b WITHIN INTERVAL 1 MINUTE",
    "CREATE STREAM TYPE ty (id INT)",
    "STOP QUERY of_a",
    "RESUME QUERY of_a",
    "DROP QUERY of_a",
    "DROP STREAM a",
    "PUNCTUATE a WHERE id = 1",
    "ALTER RULE r DISABLE",
    "RETRY RULE r",
]
SETTINGS = ["SET STRATEGY round_robin", "SET BATCHING everything", "SET run_timeout = '1 hour'"]
OUTSIDE = [
    "CREATE STREAM s (id INT) FROM files(path => '/etc', format => 'json')",
    "CREATE STREAM s (id INT) FROM spark(format => 'rate')",
    "CREATE TABLE tab FROM files(path => '/etc/passwd', format => 'csv')",
    "CREATE QUERY q AS SELECT * FROM a INTO files(path => 'out', format => 'json')",
    "CREATE QUERY q AS SELECT * FROM a INTO console()",
    "EXPLAIN SCHEDULE INTO 'x.json'",
    "SELECT java_method('java.lang.System', 'exit', 1)",
    "SELECT `reflect`('java.lang.System', 'exit', 1)",
    "CREATE QUERY q AS SELECT xpath_string(v, 'a') AS x FROM a",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_reader_may_ask(text: str) -> None:
    assert may(READER, text)


@pytest.mark.parametrize("text", CHANGES)
def test_a_writer_may_define_and_a_reader_may_not(text: str) -> None:
    assert (may(READER, text), may(WRITER, text)) == (False, True)


@pytest.mark.parametrize("text", [*SETTINGS, *OUTSIDE])
def test_only_an_admin_steers_all_and_reaches_outside(text: str) -> None:
    assert (may(READER, text), may(WRITER, text), may(ADMIN, text)) == (False, False, True)


def test_a_script_is_refused_for_any_one_of_its_statements() -> None:
    assert not may(READER, "SHOW STREAMS; DROP STREAM a; SHOW QUERIES")


def test_a_writer_reaches_the_directories_that_are_named_and_not_the_working_one() -> None:
    text = "CREATE STREAM s (id INT) FROM files(path => '{}', format => 'json')"
    into = "CREATE QUERY q AS SELECT * FROM a INTO files(path => '{}', format => 'json')"
    named = Allowed(readable=frozenset({"/data/in"}), writable=frozenset({"/data/out"}))
    assert may(WRITER, text.format("/data/in/x"), named)
    assert may(WRITER, text.format("/data/in/*.json"), named)
    assert may(WRITER, into.format("/data/out/x"), named)
    for path in ("x", "/data", "/data/in/../y", "/data/in/*/../../y", "/data/input"):
        assert not may(WRITER, text.format(path), named), path
        assert not may(WRITER, into.format(path), named), path
    assert not may(WRITER, into.format("/data/in/x"), named)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM a",
        "SELECT * FROM of_of_a",
        "SELECT * FROM of_a.late",
        "SELECT * FROM A.rejects",
        "SELECT * FROM system.queries",
        "SELECT * FROM (SELECT * FROM of_a) AS x",
        "WITH b AS (SELECT * FROM a) SELECT * FROM b",  # not the stream b
        "CREATE QUERY q AS SELECT * FROM of_a",
        "CREATE QUERY q AS SELECT * FROM a; SELECT * FROM q; DROP QUERY q",
        "CREATE OR REPLACE QUERY of_a AS SELECT * FROM a",
        "CREATE STREAM a (id INT) FROM push()",
        "STOP QUERY of_of_a",
        "PUNCTUATE a WHERE id = 1",
        "SHOW QUERIES",
    ],
)
def test_a_token_of_one_stream_reaches_what_reads_only_that(text: str) -> None:
    assert may(OF_A, text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM b",
        "SELECT * FROM t",
        "SELECT * FROM of_both",
        "SELECT * FROM b.rejects",
        "SELECT * FROM r.dead",
        "SELECT * FROM nothing_there",
        "SELECT * FROM a WHERE id IN (SELECT id FROM b)",
        "WITH x AS (SELECT * FROM b) SELECT * FROM x",
        "SELECT * FROM a JOIN t ON a.id = t.id",
        "EXPLAIN ESTIMATE SELECT * FROM b",
        "CREATE QUERY q AS SELECT * FROM b",
        "CREATE OR REPLACE QUERY of_b AS SELECT * FROM a",  # another's
        "CREATE OR REPLACE STREAM b (id INT) FROM push()",
        "CREATE STREAM c (id INT) FROM push()",
        "CREATE EVENT ev AS SELECT * FROM a SEQ b WITHIN INTERVAL 1 MINUTE",
        "STOP QUERY of_both",
        "DROP STREAM b",
        "PUNCTUATE b WHERE id = 1",
        "RETRY RULE r",
        "CREATE QUERY q AS SELECT * FROM a; DROP QUERY of_b",
    ],
)
def test_a_token_of_one_stream_reaches_nothing_else(text: str) -> None:
    assert not may(OF_A, text)
    assert may(WRITER, text)


def test_rows_are_pushed_and_followed_within_role_and_reach() -> None:
    here = rights()
    here.require_stream(OF_A, "A", Role.WRITE, "pushing")
    here.require_stream(OF_A, "of_of_a", Role.READ, "subscribing")
    for name in ("b", "of_both", "nothing_there"):
        with pytest.raises(ForbiddenError):
            here.require_stream(OF_A, name, Role.READ, "subscribing")
    with pytest.raises(ForbiddenError):
        here.require_stream(READER, "a", Role.WRITE, "pushing")


@given(st.sampled_from([*QUESTIONS, *CHANGES, *SETTINGS, *OUTSIDE]), st.sampled_from(list(Role)))
def test_a_higher_role_and_more_streams_never_allow_less(text: str, role: Role) -> None:
    wider = Caller("wider", role)
    narrow = Caller("narrow", role, frozenset({"a", "of_a"}))
    assert not may(narrow, text) or may(wider, text)
    assert not may(wider, text) or may(ADMIN, text)


def test_what_cycles_is_out_of_reach() -> None:
    around = {"x": frozenset({"y"}), "y": frozenset({"x"})}
    with pytest.raises(ForbiddenError):
        Rights(around.get, called, Allowed).require_stream(OF_A, "x", Role.READ, "subscribing")


@pytest.mark.parametrize(
    "call",
    [
        "java_method('c', 'm')",
        "JAVA_METHOD /* a */ ('c', 'm')",
        "java_method -- a\n ('c', 'm')",
        "`java_method`('c', 'm')",
        "system.builtin.java_method('c', 'm')",
        """/* ' */ java_method('c', 'm') /* ' */""",
        """r'\\', java_method('c', 'm'), r'\\'""",
    ],
)
def test_no_comment_or_quote_hides_a_call_from_admins_alone(call: str) -> None:
    assert not may(READER, f"SELECT {call}")
    assert may(ADMIN, f"SELECT {call}")


def test_a_text_that_names_a_function_calls_none() -> None:
    assert may(READER, "SELECT 'java_method(1)' /* java_method(1) */")
