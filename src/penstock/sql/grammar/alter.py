"""ALTER RULE and ALTER QUERY, as statements and as actions of rules.

ALTER QUERY left_turns SET (max_latency => INTERVAL 1 SECOND, weight => 5)
"""

from collections.abc import Mapping

from penstock.errors import BadOptionError
from penstock.model.definitions import Expression, Option
from penstock.model.goals import Goals, Terms
from penstock.model.rules import Alter, Steer
from penstock.sql.clauses.connectors import read_options
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import place_at
from penstock.sql.grammar.queries import GOALS, OPTIONS, goals_of, refuse_unknown
from penstock.sql.grammar.statements import AlterQuery, AlterRule

NOTHING = Expression("NULL")  # the goal as a query has it that does not state it


def read_alter(reader: TokenReader) -> AlterRule | AlterQuery:
    """Read ALTER RULE name ENABLE or DISABLE, or ALTER QUERY name SET (goal => value, …)."""
    start = reader.token
    text, place = reader.text_from(start), place_at(reader.sql, start.start)
    reader.expect("ALTER")
    match read_altered(reader):
        case Alter(name, terms):
            return AlterQuery(text, place, name, terms)
        case Steer(verb, name):
            return AlterRule(text, place, name, verb == "ENABLE")


def read_altered(reader: TokenReader) -> Steer | Alter:
    """Read what follows ALTER."""
    if reader.choose("RULE", "QUERY", what="RULE or QUERY") == "QUERY":
        name = reader.name("the query's name")
        reader.expect("SET", hint="ALTER QUERY name SET (weight => 2)")
        return Alter(name, _terms(reader))
    name = reader.name("the rule's name")
    verb = reader.choose("ENABLE", "DISABLE", what="ENABLE or DISABLE")
    return Steer("ENABLE" if verb == "ENABLE" else "DISABLE", name)


def _terms(reader: TokenReader) -> Terms:
    token = reader.token
    options = dict(read_options(reader, _check))
    with reader.placed(token):
        if not options:
            raise BadOptionError("SET () sets nothing", hint="ALTER QUERY name SET (weight => 2)")
    return Terms(tuple(options), _stated(options))


def _check(name: str, value: Option) -> None:
    if name in OPTIONS and name not in GOALS:
        raise BadOptionError(
            f"{name} decides how a query is computed, and cannot change while it runs",
            hint="CREATE OR REPLACE QUERY begins it anew",
        )
    refuse_unknown((name,), GOALS)
    _stated({name: value})


def _stated(options: Mapping[str, Option]) -> Goals:
    """Return the goals that options state; NULL states none."""
    return goals_of({name: value for name, value in options.items() if value != NOTHING})
