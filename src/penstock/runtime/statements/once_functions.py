"""Functions in the FROM of a one-time SELECT: over what is there now, as a stream that has ended.

Functions over items run in this process; those in SQL are SELECTs like the one around them. What a
function fails on is not held, since nobody keeps it: the SELECT fails, as it does on a row of
Spark's.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.engine.spark.jobs.once import Relation, Stored
from penstock.engine.trains.rows import fit, laid_together, read_parquet
from penstock.engine.trains.types import arrow_schema
from penstock.errors import BadQueryError, FunctionError, PenstockError
from penstock.functions.data.items import StreamType
from penstock.functions.flows.run import Runner
from penstock.model.definitions import FunctionDefinition
from penstock.model.own_names import own
from penstock.plan.operators import EventTime, Operator, Scan
from penstock.plan.relations.bind_function import filled_body
from penstock.plan.relations.sources import EventSource, StreamSource, with_name
from penstock.plan.select.once import Called, calls_as_names
from penstock.runtime.definitions.definition_binder import DefinitionBinder
from penstock.runtime.names.flows import graph_of, type_of
from penstock.runtime.statements.settings import StatementLimit

MOST_BYTES = 1 << 30  # of items in one process; a query takes them train by train
Answer = Callable[[Any, Mapping[str, pa.Table]], pa.Table]


@dataclass(frozen=True, slots=True)
class Given:
    """Items, and what they are."""

    table: pa.Table
    kind: StreamType


@dataclass(slots=True)
class OnceFunctions:
    """`rows` gives what a name holds, `answer` runs a SELECT that may read some tables by name."""

    binder: DefinitionBinder
    limit: StatementLimit
    rows: Callable[[str], Relation]
    answer: Answer
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def called(self, select: Any, known: Mapping[str, Given]) -> tuple[Any, dict[str, pa.Table]]:
        """Return a SELECT whose functions in FROM are names, and the rows of each of these.

        `known` are names that stand for items already, such as the stream of a function in SQL.
        """
        found: dict[str, pa.Table] = {name: given.table for name, given in known.items()}

        def named(call: Called) -> str:
            name = own(f"called_{next(self.numbers)}")
            found[name] = self._of(call, known).table
            return name

        return calls_as_names(select, self._is_ours, named), found

    def _is_ours(self, name: str, over: str) -> bool:
        """Say whether a function is one of flows: by its name, or since it reads a stream."""
        known = self.binder.functions.find(name) is not None
        return known or self.binder.directory.get(over) is not None

    def _of(self, call: Called, known: Mapping[str, Given]) -> Given:
        over = call.over
        given = self._of(over, known) if isinstance(over, Called) else self._stream(over, known)
        definition = self.binder.functions.written.get(call.name.lower())
        if definition is not None:
            return self._selected(definition, call, given)
        return self._ran(call, given)

    def _stream(self, name: str, known: Mapping[str, Given]) -> Given:
        if name.lower() in known:
            return known[name.lower()]
        source = self.binder.source(name)
        if isinstance(source, EventSource) or not isinstance(source, StreamSource):
            raise BadQueryError(f"{name} is no stream", hint="a function reads a stream first")
        kind = self._type_of(source.operator)
        return Given(fit(_table(self.rows(name)), arrow_schema(kind.schema)), kind)

    def _ran(self, call: Called, given: Given) -> Given:
        try:
            term = call.term
            runner = Runner(graph_of(term, self.binder.functions.registry), (given.kind,))
        except PenstockError as error:
            error.place = error.place or call.place
            raise
        if given.table.nbytes > MOST_BYTES:
            raise BadQueryError(
                f"{given.table.nbytes:,} bytes are too many for {term} in one go",
                hint="CREATE QUERY … AS SELECT … takes them train by train",
                place=call.place,
            )
        step = partial(runner.step, runner.fresh(), {0: given.table}, ended=True)
        delivered, _ = self.limit.within(step)
        if delivered.withheld:
            count, first = (
                sum(len(each.items) for each in delivered.withheld),
                delivered.withheld[0],
            )
            raise FunctionError(
                f"{term} fails on {count} of the items: {_bare(first.cause)}",
                hint="CREATE QUERY … AS SELECT … holds such items and goes on",
                place=call.place,
            )
        (items,), (kind,) = delivered.outputs, runner.result_types
        return Given(fit(items.table, arrow_schema(kind.schema)), kind)

    def _selected(self, definition: FunctionDefinition, call: Called, given: Given) -> Given:
        """Return what a function in SQL gives; it is bound first, which tells its type."""
        body = filled_body(definition, call.given, call.place)
        times = (EventTime(given.kind.ordering),) if given.kind.ordering else ()
        stream = Scan(definition.stream, 0, given.kind.schema, times)
        lookup = with_name(self.binder.source, definition.stream, StreamSource(stream))
        kind = self._type_of(self.binder.over(lookup).bind(body))
        select, found = self.called(body, {definition.stream.lower(): given})
        return Given(fit(self.answer(select, found), arrow_schema(kind.schema)), kind)

    def _type_of(self, operator: Operator) -> StreamType:
        return type_of(operator, (known.kind for known in self.binder.types))


def _bare(cause: str) -> str:
    return cause.removeprefix(f"{FunctionError.code}: ")


def _table(relation: Relation) -> pa.Table:
    if not isinstance(relation, Stored):
        return relation
    size = sum(path.stat().st_size for path in relation.files)
    if size > MOST_BYTES:
        raise BadQueryError(
            f"an archive of {size:,} bytes is too much for a function in one go",
            hint="CREATE QUERY … AS SELECT … takes them train by train",
        )
    return laid_together([read_parquet(relation.files, relation.schema), relation.rest])
