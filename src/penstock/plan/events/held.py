"""Streams inside a rule's condition: tables of what they hold at the moment of asking.

A stream is never all there, so a standing query cannot ask it. A rule asks at a trigger batch,
once, and what it was told is kept with what it decides (runtime/durable/pending_actions.py).
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.model.events import Mode
from penstock.model.schema import Schema
from penstock.plan.operators import table_view
from penstock.plan.relations.sources import (
    NOTHING,
    Analyst,
    EventSource,
    Lookup,
    Source,
    StreamSource,
    TableSource,
)
from penstock.plan.select.once import is_named_by_with


@dataclass(frozen=True, slots=True)
class HeldTable:
    """What a stream, a query or an event holds, as a table that only one rule asks."""

    name: str
    asked_as: str
    schema: Schema

    @property
    def source(self) -> TableSource:
        """Return it as the planner reads it."""
        # A view's name has ASCII letters alone: the number keeps names apart that have others.
        return TableSource(self.asked_as, zlib.crc32(self.asked_as.encode()), self.schema)

    @property
    def view(self) -> str:
        """Return the name under which its rows are asked."""
        return table_view(self.source.table, self.source.incarnation)


@dataclass(frozen=True, slots=True)
class HeldAnalyst:
    """An analyst that knows the columns of what is held."""

    analyst: Analyst
    views: Mapping[str, Schema]

    def schema(
        self, sql: str, leaves: Mapping[str, Schema], meant: Mapping[str, str] = NOTHING
    ) -> Schema:
        """Return the output's columns, or raise what is wrong."""
        return self.analyst.schema(sql, {**leaves, **self.views}, meant)


def held_in(
    condition: exp.Expr, lookup: Lookup, rule: str
) -> tuple[exp.Expr, tuple[HeldTable, ...]]:
    """Return a rule's condition with its streams as tables, and these."""
    condition = condition.copy()
    found: dict[str, HeldTable] = {}
    for table in list(condition.find_all(exp.Table)):
        name = ".".join(part.name for part in table.parts)
        if not isinstance(table.this, exp.Identifier) or is_named_by_with(table, name):
            continue
        schema = _columns(lookup(name))
        if schema is not None:
            held = HeldTable(name.lower(), f"{name.lower()} as rule {rule.lower()} asks it", schema)
            found[held.name] = held
            _rename(table, held.asked_as)
    return condition, tuple(found.values())


def with_held(lookup: Lookup, held: tuple[HeldTable, ...]) -> Lookup:
    """Return a lookup that knows what is held as well."""
    known = {each.asked_as: each.source for each in held}
    return lambda name: known.get(name) or lookup(name)


def _columns(source: Source | None) -> Schema | None:
    """Return the columns of a source that is no table, or None."""
    match source:
        case StreamSource(operator):
            return operator.schema
        case EventSource(read):
            return read(Mode.RECENT).schema
        case _:
            return None


def _rename(table: exp.Table, name: str) -> None:
    if not table.alias:
        table.set("alias", exp.TableAlias(this=table.this.copy()))
    place = table.this.meta
    table.set("this", exp.to_identifier(name, quoted=True))
    table.this.meta.update(place)
