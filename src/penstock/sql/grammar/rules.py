"""CREATE RULE and RETRY RULE.

CREATE RULE evacuate COUPLING immediate PRIORITY 9 ON hot WHEN temp > 60
  DO webhook(url => 'http://…'), INSERT INTO alarms SELECT room, temp WITH (retries => 2)
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlglot import exp

from penstock.errors import BadOptionError, BadQueryError, UnknownOptionError
from penstock.model.definitions import Connector, Option
from penstock.model.goals import HIGHEST, LOWEST
from penstock.model.rules import (
    ActionLimits,
    CallAction,
    Coupling,
    Insert,
    OutsideAction,
    RuleDefinition,
    Steer,
)
from penstock.sql.clauses.connectors import read_connector, read_options
from penstock.sql.dialect.conditions import find_part
from penstock.sql.dialect.contexts import read_mode
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.printable import settled
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import near_miss, place_at
from penstock.sql.dialect.trees import spark_sql
from penstock.sql.grammar.alter import read_altered
from penstock.sql.grammar.statements import RetryRule

REACHES = ("webhook", "command")
LIMITS: dict[str, str] = {
    "timeout": "a length of time, such as INTERVAL 2 SECONDS",
    "backoff": "a length of time, such as INTERVAL 2 SECONDS",
    "rate": "a number of tuples a second",
    "retries": "a whole number",
    "queue": "a whole number",
    "dead": "a whole number",
}
HINT = "INSERT INTO, RAISE, CALL, START, STOP or ALTER QUERY, ALTER RULE, webhook(…), command(…)"
# By two words, since one may be a value's name.
STARTS = (
    ("INSERT", "INTO"),
    ("START", "QUERY"),
    ("RESUME", "QUERY"),
    ("STOP", "QUERY"),
    ("ALTER", "QUERY"),
    ("ALTER", "RULE"),
)
Trees = tuple[exp.Expr | None, tuple[tuple[exp.Expr, ...], ...]]


def read_rule(reader: Penstock.Parser, name: str, text: str) -> tuple[RuleDefinition, Trees]:
    """Read what follows CREATE RULE and its name.

    Returned too are the trees of the condition and of the expressions of each action, whose places
    in the text are known.
    """
    given = _clauses(reader)
    reader.expect("ON", hint="CREATE RULE name ON event WHEN condition DO action")
    event = reader.name("the event's name")
    condition = _condition(reader) if reader.accept("WHEN") else None
    reader.expect("DO", hint=f"a rule ends in DO and what to do: {HINT}")
    actions, trees = _actions(reader)
    limits = _limits(reader) if reader.accept("WITH") else ActionLimits()
    if reader.token:
        reader.miss("the end", hint="commas stand between actions; WITH (…) comes last")
    definition = RuleDefinition(
        name,
        event,
        "" if condition is None else spark_sql(condition),
        tuple(actions),
        limits=limits,
        text=text,
        **given,
    )
    return definition, (condition, tuple(trees))


def read_retry_rule(reader: TokenReader) -> RetryRule:
    """Read RETRY RULE name."""
    start = reader.token
    text, place = reader.text_from(start), place_at(reader.sql, start.start)
    reader.expect("RETRY", "RULE", hint="RETRY RULE name does its dead letters again")
    return RetryRule(text, place, reader.name("the rule's name"))


def _clauses(reader: TokenReader) -> dict[str, Any]:
    """Read what stands between the name and ON, in any order; commas may stand between."""
    given: dict[str, Any] = {}
    reader.accept(",")
    while not reader.sees("ON"):
        token = reader.token
        word = reader.choose(*CLAUSES, what="ON")
        if word.lower() in given:
            reader.fail(f"{word} is given twice", hint="keep one of the two", token=token)
        given[word.lower()] = CLAUSES[word](reader)
        reader.accept(",")
    return given


def _coupling(reader: TokenReader) -> Coupling:
    word = reader.choose(*(each.upper() for each in Coupling), what="a coupling")
    return Coupling(word.lower())


def _priority(reader: TokenReader) -> int:
    token, written = reader.token, reader.number()
    if written is None or not written.isdecimal() or not LOWEST <= int(written[:9]) <= HIGHEST:
        reader.fail(
            f"a priority is a whole number from {LOWEST} to {HIGHEST}",
            hint=f"{HIGHEST} acts first",
            token=token,
        )
    return int(written)


CLAUSES: dict[str, Callable[[TokenReader], Any]] = {
    "COUPLING": _coupling,
    "CONTEXT": read_mode,
    "PRIORITY": _priority,
}


def _condition(reader: Penstock.Parser) -> exp.Expr:
    with reader.placed(reader.token):
        found = settled(reader.value("a condition"), lambda again: again.value("a condition"))
        _refuse_parts(found)
        return found


def _refuse_parts(tree: exp.Expr) -> None:
    if part := find_part(tree, "an aggregate", "a modifier", "a window function"):
        raise BadQueryError(
            f"{part} stands in a rule, which sees one tuple of its event at a time",
            hint="CREATE QUERY … with it, and let the rule stand ON that query",
        )


def _actions(reader: Penstock.Parser) -> tuple[list[Any], list[tuple[exp.Expr, ...]]]:
    actions, trees = [], []
    while True:
        action, values = _action(reader)
        actions.append(action)
        trees.append(values)
        if not reader.accept(","):
            return actions, trees


def _action(reader: Penstock.Parser) -> tuple[Any, tuple[exp.Expr, ...]]:
    """Read one action; return also the trees of its expressions."""
    if reader.accept("INSERT"):
        return _insert(reader)
    if reader.accept("RAISE"):
        return _raise(reader)
    if reader.accept("CALL"):
        return CallAction(reader.word("the action's name").lower()), ()
    if reader.accept("ALTER"):
        return read_altered(reader), ()
    for word in ("START", "RESUME", "STOP"):
        if reader.accept(word):
            reader.expect("QUERY")
            return Steer("STOP" if word == "STOP" else "START", reader.name("the query's name")), ()
    return _reach(reader)


def _insert(reader: Penstock.Parser) -> tuple[Insert, tuple[exp.Expr, ...]]:
    reader.expect("INTO")
    target = reader.name("the stream's name")
    columns = _names(reader) if reader.sees("(") else ()
    reader.expect("SELECT", hint="INSERT INTO alarms SELECT room, temp")
    trees = _values(reader)
    values = tuple(spark_sql(each) for each in trees)
    starred = any(tree.find(exp.Star) for tree in trees)  # whose columns are not known yet
    if columns and not starred and len(columns) != len(values):
        reader.fail(f"{len(columns)} columns are named, and {len(values)} values given")
    return Insert(target, values, columns), trees


def _names(reader: TokenReader) -> tuple[str, ...]:
    reader.expect("(")
    names = [reader.name("a column")]
    while reader.accept(","):
        names.append(reader.name("a column"))
    reader.expect(")")
    return tuple(names)


def _values(reader: Penstock.Parser) -> tuple[exp.Expr, ...]:
    """Read a list of expressions; a comma before an action ends it."""
    found = [_value(reader)]
    while reader.sees(",") and not _action_follows(reader):
        reader.accept(",")
        found.append(_value(reader))
    if reader.sees("FROM"):
        reader.miss("the end of the action", hint="the tuples are those of the rule's event")
    return tuple(found)


def _value(reader: Penstock.Parser) -> exp.Expr:
    with reader.placed(reader.token):
        found = settled(reader.value("a value"), lambda again: again.value("a value"))
        _refuse_parts(found)
        if part := find_part(found, "a subquery"):
            raise BadQueryError(
                f"{part} stands in an action", hint="join the table in the query below the rule"
            )
    if reader.accept("AS"):
        return exp.alias_(found, reader.name("a name"), quoted=True)
    return found


def _action_follows(reader: TokenReader) -> bool:
    """Say whether what stands after a comma is an action and no value."""
    start = reader.mark()
    try:
        reader.accept(",")
        if any(reader.sees(*words) for words in STARTS):
            return True
        if reader.accept("RAISE") or reader.accept("CALL"):
            return bool(reader.token) and not any(map(reader.sees, (",", "(", ".", "AS")))
        return any(reader.sees(each.upper(), "(") for each in REACHES)
    finally:
        reader.back_to(start)


def _raise(reader: Penstock.Parser) -> tuple[Insert, tuple[exp.Expr, ...]]:
    target = reader.name("the event's name")
    reader.expect("(", hint="RAISE event(value, value)")
    trees: list[exp.Expr] = []
    while not reader.sees(")"):
        trees.append(_value(reader))
        if not reader.accept(","):
            break
    reader.expect(")")
    return Insert(target, tuple(spark_sql(each) for each in trees), verb="RAISE"), tuple(trees)


def _reach(reader: TokenReader) -> tuple[OutsideAction, tuple[exp.Expr, ...]]:
    word = reader.token.text.lower() if reader.token else ""
    if word not in REACHES:
        reader.miss("an action", hint=near_miss(word, REACHES) or HINT)
    connector: Connector = read_connector(reader)
    return OutsideAction(connector), ()


def _limits(reader: TokenReader) -> ActionLimits:
    token = reader.token
    options: dict[str, Any] = dict(read_options(reader))
    with reader.placed(token):
        for name, value in options.items():
            if name not in LIMITS:
                hint = near_miss(name, LIMITS).lower() or f"one of {', '.join(LIMITS)}"
                raise UnknownOptionError(f"a rule has no option {name}", hint=hint)
            if not _fits(name, value):
                raise BadOptionError(f"{name} must be {LIMITS[name]}")
        return ActionLimits(**options)


def _fits(name: str, value: Option) -> bool:
    if isinstance(value, bool):
        return False
    if name in ("timeout", "backoff"):
        return isinstance(value, timedelta)
    return isinstance(value, int | float) if name == "rate" else isinstance(value, int)
