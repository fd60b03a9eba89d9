"""The statements there are, by their first word."""

from collections.abc import Callable
from typing import get_args

from penstock.errors import Place
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.printable import select_of
from penstock.sql.dialect.refusals import near_miss, place_at
from penstock.sql.grammar.alter import read_alter
from penstock.sql.grammar.create import KINDS, accept_stream_type, read_create
from penstock.sql.grammar.punctuate import read_punctuate
from penstock.sql.grammar.rules import read_retry_rule
from penstock.sql.grammar.scheduling import read_explain_schedule, read_set
from penstock.sql.grammar.statements import (
    CreateQuery,
    Describe,
    Drop,
    Explain,
    ExplainAll,
    ExplainEstimate,
    ExplainEvent,
    Form,
    Kinds,
    OptimizeQuery,
    ResumeQuery,
    SelectOnce,
    Show,
    Statement,
    StopQuery,
)

Parser = Penstock.Parser
SHOWN: tuple[Kinds, ...] = get_args(Kinds)
DRAWN: tuple[Form, ...] = ("TEXT", "JSON", "DOT")


def read_statement(reader: Parser) -> Statement:
    """Read one statement."""
    for word, rule in RULES.items():
        if reader.sees(word):
            return rule(reader)
    known = [word for word in RULES if word.isalpha()]
    hint = near_miss(reader.token.text, known) or f"a statement starts with {', '.join(known)}"
    return reader.miss("a statement", hint=hint)


def read_select(reader: Parser) -> SelectOnce:
    """Read a one-time SELECT."""
    text, place = _source(reader)
    return SelectOnce(text, place, select_of(reader))


def _source(reader: Parser) -> tuple[str, Place]:
    """Return the text and the place of a statement that starts under the cursor."""
    return reader.text_from(reader.token), place_at(reader.sql, reader.token.start)


def _drop(reader: Parser) -> Drop:
    text, place = _source(reader)
    reader.expect("DROP")
    word = "TYPE" if accept_stream_type(reader) else reader.choose(*KINDS, what="what to drop")
    kind = next(kind for kind in KINDS if kind == word)
    if_exists = reader.accept("IF", "EXISTS")
    return Drop(text, place, kind, reader.name(f"the {kind.lower()}'s name"), if_exists)


def _stop(reader: Parser) -> StopQuery:
    text, place = _source(reader)
    reader.expect("STOP", "QUERY")
    return StopQuery(text, place, reader.name("the query's name"))


def _resume(reader: Parser) -> ResumeQuery:
    text, place = _source(reader)
    reader.expect("RESUME", "QUERY")
    return ResumeQuery(text, place, reader.name("the query's name"))


def _optimize(reader: Parser) -> OptimizeQuery:
    text, place = _source(reader)
    reader.expect("OPTIMIZE", "QUERY")
    name = reader.name("the query's name")
    if reader.token:
        reader.miss("the end", hint=f"OPTIMIZE QUERY {name}")
    return OptimizeQuery(text, place, name)


def _show(reader: Parser) -> Show:
    text, place = _source(reader)
    reader.expect("SHOW")
    word = reader.choose(*SHOWN, what="what to show")
    if word == "SITES":
        return _show_sites(reader, text, place)
    if reader.token:
        reader.miss("the end", hint=f"SHOW {word} stands alone: it shows all there is")
    return Show(text, place, next(what for what in SHOWN if what == word))


def _show_sites(reader: Parser, text: str, place: Place) -> Show:
    hint = "SHOW SITES [query] [AS JSON] [INTO 'file.json' | INTO 'file.png']"
    name = None
    if reader.token and not reader.sees("AS") and not reader.sees("INTO"):
        name = reader.name("the query's name")
    as_json = reader.accept("AS")
    if as_json:
        reader.expect("JSON", hint=hint)
    into = None
    if reader.accept("INTO"):
        into = reader.string() or reader.miss("a file's name", hint=hint)
    if reader.token:
        reader.miss("the end", hint=hint)
    return Show(text, place, "SITES", name, as_json, into)


def _describe(reader: Parser) -> Describe:
    text, place = _source(reader)
    reader.expect("DESCRIBE")
    what = "the name of a stream, table, query, event, rule, type or function"
    return Describe(text, place, _after_kind(reader, what))


def _after_kind(reader: Parser, what: str) -> str:
    """Read a name, before which the kind of a thing may stand."""
    start = reader.mark()
    if any(reader.accept(kind) for kind in KINDS) and reader.token:
        return reader.name(what)
    reader.back_to(start)
    return reader.name(what)


def _explain(reader: Parser) -> Statement:
    text, place = _source(reader)
    reader.expect("EXPLAIN")
    start = reader.mark()
    if reader.accept("ESTIMATE") and reader.token:
        return ExplainEstimate(text, place, _subject(reader))
    reader.back_to(start)
    if reader.accept("EVENT") and reader.token:
        return ExplainEvent(text, place, reader.name("the event's name"), _form(reader))
    reader.back_to(start)
    if reader.accept("SCHEDULE"):
        return read_explain_schedule(reader, text, place)
    if reader.accept("ALL"):
        return ExplainAll(text, place, _form(reader))
    return Explain(text, place, _subject(reader))


def _subject(reader: Parser) -> str | SelectOnce | CreateQuery:
    """Read a query by its name, or one that is not there yet."""
    if any(reader.sees(word) for word in SELECTS):
        return read_select(reader)
    if reader.sees("CREATE"):
        first = reader.token
        created = read_create(reader)
        if not isinstance(created, CreateQuery):
            reader.fail("only a query can be explained", token=first)
        return created
    return reader.name("a query's name or a SELECT")


def _form(reader: Parser) -> Form:
    """Read how something is to be drawn; as text where nothing is said."""
    if not reader.token:
        return "TEXT"
    reader.expect("AS", hint="EXPLAIN ALL AS JSON; a query of the name `all` stands in backticks")
    word = reader.choose(*DRAWN, what="how to draw it")
    return next(form for form in DRAWN if form == word)


SELECTS = ("SELECT", "WITH", "(")
RULES: dict[str, Callable[[Parser], Statement]] = {
    "CREATE": read_create,
    "DROP": _drop,
    "STOP": _stop,
    "RESUME": _resume,
    "OPTIMIZE": _optimize,
    "ALTER": read_alter,
    "RETRY": read_retry_rule,
    "PUNCTUATE": read_punctuate,
    "SET": read_set,
    "SHOW": _show,
    "DESCRIBE": _describe,
    "EXPLAIN": _explain,
    **dict.fromkeys(SELECTS, read_select),
}
