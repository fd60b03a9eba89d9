"""CREATE QUERY with other goals: WITH is written anew, the rest stays as it was typed."""

from penstock.model.definitions import QueryDefinition
from penstock.model.goals import NO_GOALS, Goals
from penstock.sql.clauses.connectors import read_options
from penstock.sql.dialect.dialect import Penstock
from penstock.sql.dialect.intervals import duration_sql
from penstock.sql.dialect.script import split
from penstock.sql.grammar.queries import JOINS, SITES


def amended(definition: QueryDefinition, goals: Goals) -> str:
    """Return the text that defines the same query with these goals."""
    text = definition.text
    start, end = Penstock.Parser(dialect=Penstock).read(split(text)[0], text, _clause)
    stated = _stated(goals)
    if definition.join != JOINS[0]:
        stated.append(f"join => '{definition.join}'")
    if definition.sites != SITES[0]:
        stated.append(f"sites => '{definition.sites}'")
    if (keeping := definition.keeping) is not None:
        stated.append(f"strategy => '{keeping.strategy}'")
        if keeping.memory is not None:
            stated.append(f"memory => '{keeping.memory} B'")
    clause = f"WITH ({', '.join(stated)}) " if stated else ""
    return f"{text[:start]}{clause}{text[end:]}"


def _clause(reader: Penstock.Parser) -> tuple[int, int]:
    """Return where the WITH clause begins and where what follows it does."""
    reader.expect("CREATE")
    reader.accept("OR", "REPLACE")
    reader.accept("CONTINUOUS")
    reader.expect("QUERY")
    reader.accept("IF", "NOT", "EXISTS")
    reader.name("the query's name")
    start = reader.token.start
    if reader.accept("WITH"):
        read_options(reader)
    end = reader.token.start
    reader.rest()
    return start, end


def _stated(goals: Goals) -> list[str]:
    """Return the goals that a query does not have by itself, as options."""
    found = []
    if goals.max_latency is not None:
        found.append(f"max_latency => INTERVAL {duration_sql(goals.max_latency)}")
    if goals.max_error is not None:
        found.append(f"max_error => {goals.max_error!r}")
    if goals.weight != NO_GOALS.weight:
        found.append(f"weight => {goals.weight!r}")
    if goals.priority != NO_GOALS.priority:
        found.append(f"priority => {goals.priority}")
    return found
