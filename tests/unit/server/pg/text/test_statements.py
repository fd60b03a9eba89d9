import pytest

from penstock.errors import PenstockError
from penstock.server.pg.text.lexer import tokens_of
from penstock.server.pg.text.statements import (
    CatalogQuestion,
    CopyOut,
    Declare,
    Fetch,
    Forget,
    Form,
    Penstock,
    SetParameter,
    ShowParameter,
    Subscribe,
    Transaction,
    form_of,
)


def form(text: str) -> Form:
    return form_of(text, tokens_of(text))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("BEGIN ISOLATION LEVEL SERIALIZABLE", Transaction("BEGIN")),
        ("start transaction read only", Transaction("BEGIN")),
        ("COMMIT WORK", Transaction("COMMIT")),
        ("END", Transaction("COMMIT")),
        ("ABORT", Transaction("ROLLBACK")),
        ("ROLLBACK TO SAVEPOINT x", Transaction("ROLLBACK TO")),
        ("SAVEPOINT x", Transaction("SAVEPOINT")),
        ("RELEASE x", Transaction("RELEASE")),
        ("SET search_path TO a, 'B'", SetParameter("search_path", "a, B")),
        ("SET LOCAL statement_timeout = '5s'", SetParameter("statement_timeout", "5s")),
        ("SET TIME ZONE 'UTC'", SetParameter("timezone", "UTC")),
        ("SET extra_float_digits = -3", SetParameter("extra_float_digits", "-3")),
        ("SET x.y TO DEFAULT", SetParameter("x.y", None)),
        ("RESET ALL", SetParameter("", None, "RESET")),
        ("SET STRATEGY pcs", Penstock("SET", asks=False)),
        ("SHOW TRANSACTION ISOLATION LEVEL", ShowParameter("transaction_isolation")),
        ("SHOW server_version", ShowParameter("server_version")),
        ("SHOW streams", Penstock("SHOW", asks=True)),
        ("DISCARD ALL", Forget("ALL", "all", "DISCARD ALL")),
        ("DEALLOCATE PREPARE x", Forget("STATEMENT", "x", "DEALLOCATE")),
        ("CLOSE c", Forget("CURSOR", "c", "CLOSE CURSOR")),
        ("UNLISTEN *", Forget("NOTHING", "", "UNLISTEN")),
        ("SUBSCRIBE Q", Subscribe("q")),
        ("SUBSCRIBE TO public.\"Q\" WITH POSITION AFTER '3-4'", Subscribe("Q", "3-4", True)),
        ("SUBSCRIBE q AFTER NOW", Subscribe("q", "now")),
        ("FETCH FORWARD 10 FROM c", Fetch("c", 10, moves=False)),
        ("FETCH ALL IN c", Fetch("c", None, moves=False)),
        ("MOVE c", Fetch("c", 1, moves=True)),
        ("SELECT * FROM hits", Penstock("SELECT", asks=True)),
        ("CREATE QUERY q AS SELECT 1", Penstock("CREATE", asks=False)),
        ("EXPLAIN q", Penstock("EXPLAIN", asks=True)),
    ],
)
def test_a_statement_is_what_its_words_say(text: str, meant: Form) -> None:
    assert form(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "SELECT 'x' AS a, TRUE as \"b\", NULL, $1",
        "SELECT version()",
        "select current_user",
        "SELECT * FROM pg_class",
        "SELECT * FROM information_schema.tables t JOIN x ON TRUE",
        "SELECT pg_catalog.set_config('a', 'b', false)",
    ],
)
def test_the_catalog_answers_what_is_about_it_or_the_session(text: str) -> None:
    assert form(text) == CatalogQuestion()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'pg_catalog.x' FROM hits",
        "SELECT a FROM hits WHERE b = 'information_schema.y'",
        "SELECT date_trunc('hour', now())",
        "SELECT 1 FROM hits",
        "SELECT 7 / 2",
        "SELECT -1 AS a",
        "SELECT ,",
        "SELECT 1,",
        "SELECT 1 AS",
        "SELECT",
    ],
)
def test_penstock_answers_the_rest(text: str) -> None:
    assert form(text) == Penstock("SELECT", asks=True)


def test_copy_has_a_select_a_subscribe_or_a_name() -> None:
    found = form("COPY (SUBSCRIBE q) TO STDOUT WITH (FORMAT csv, HEADER, NULL 'nil')")
    assert isinstance(found, CopyOut)
    assert [token.value for token in found.inner] == ["SUBSCRIBE", "q"]
    assert (found.form, found.delimiter, found.null, found.header) == ("csv", ",", "nil", True)
    named = form("COPY public.hits TO STDOUT")
    assert isinstance(named, CopyOut)
    assert " ".join(token.value for token in named.inner) == "SELECT * FROM public . hits"
    old = form("COPY hits TO STDOUT CSV HEADER DELIMITER ';'")
    assert isinstance(old, CopyOut)
    assert (old.form, old.delimiter, old.header) == ("csv", ";", True)


def test_a_cursor_is_over_what_follows_for() -> None:
    found = form("DECLARE C BINARY NO SCROLL CURSOR WITHOUT HOLD FOR SUBSCRIBE q")
    assert isinstance(found, Declare)
    assert found.name == "c"
    assert [token.value for token in found.inner] == ["SUBSCRIBE", "q"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SET x", "SQL_SYNTAX"),
        ("SET x TO", "SQL_SYNTAX"),
        ("SUBSCRIBE", "SQL_SYNTAX"),
        ("SUBSCRIBE q AFTER 3", "SQL_SYNTAX"),
        ("SUBSCRIBE q nonsense", "SQL_SYNTAX"),
        ("DECLARE c CURSOR FOR", "SQL_SYNTAX"),
        ("DECLARE c FOR SELECT 1", "SQL_SYNTAX"),
        ("FETCH BACKWARD 3 FROM c", "NOT_YET"),
        ("COPY hits FROM STDIN", "NOT_YET"),
        ("COPY hits TO '/etc/passwd'", "SQL_SYNTAX"),
        ("COPY (SELECT 1", "SQL_SYNTAX"),
        ("COPY hits TO STDOUT (FORMAT xml)", "SQL_SYNTAX"),
        ("COPY hits TO STDOUT (DELIMITER 'ab')", "SQL_SYNTAX"),
        ("COPY hits TO STDOUT (QUOTE 'x')", "SQL_SYNTAX"),
        ("COMMIT PREPARED 'x'", "NOT_YET"),
        ("CLOSE", "SQL_SYNTAX"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, code: str) -> None:
    with pytest.raises(PenstockError) as caught:
        form(text)
    assert caught.value.code == code
