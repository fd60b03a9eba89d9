"""SET STRATEGY pcs; SET BATCHING intelligent WITH (alpha => 0.9); EXPLAIN SCHEDULE."""

from penstock.errors import Place
from penstock.sql.connectors import read_options
from penstock.sql.dialect import Penstock
from penstock.sql.refusals import place_at
from penstock.sql.statements import Decider, ExplainSchedule, SetDecider

DECIDERS: tuple[Decider, ...] = ("STRATEGY", "BATCHING")


def read_set(reader: Penstock.Parser) -> SetDecider:
    """Read a whole SET statement."""
    start = reader.token
    text, place = reader.text_from(start), place_at(reader.sql, start.start)
    reader.expect("SET")
    word = reader.choose(*DECIDERS, what="what to set")
    what = next(each for each in DECIDERS if each == word)
    name = reader.word(f"the {what.lower()}'s name").lower()
    options = read_options(reader) if reader.accept("WITH") else ()
    if reader.token:
        reader.miss("the end", hint=f"SET {what} {name} WITH (parameter => value)")
    return SetDecider(text, place, what, name, options)


def read_explain_schedule(reader: Penstock.Parser, text: str, place: Place) -> ExplainSchedule:
    """Read what follows EXPLAIN SCHEDULE."""
    form = reader.choose("TEXT", "JSON", what="TEXT or JSON") if reader.accept("AS") else "TEXT"
    into = ""
    if reader.accept("INTO"):
        into = reader.string() or reader.miss(
            "a file's name", hint="EXPLAIN SCHEDULE AS JSON INTO 'measured.json'"
        )
    if reader.token:
        reader.miss("the end", hint="EXPLAIN SCHEDULE [AS TEXT | JSON] [INTO 'file']")
    return ExplainSchedule(text, place, "JSON" if form == "JSON" else "TEXT", into)
