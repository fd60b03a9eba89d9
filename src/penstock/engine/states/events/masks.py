"""Masks: the occurrences of primitive events over one base, found by one SELECT for all of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from penstock.engine.states.sharing.post_aggregation import with_constants
from penstock.engine.states.state import Run
from penstock.engine.states.windows.section_rows import asked_for
from penstock.engine.trains.rows import empty_table, fit, in_memory
from penstock.engine.trains.types import arrow_schema
from penstock.events.occurrences.event_input import ORDER
from penstock.model.own_names import INPUT
from penstock.model.schema import quoted
from penstock.plan.operators import Operator
from penstock.plan.operators.bundles.event_member import asking
from penstock.plan.operators.bundles.member import FlowMember
from penstock.plan.sharing.post_aggregation import MEMBER, PostAggregation, flow_post_aggregation_of
from penstock.plan.sharing.predicate_index import PredicateIndex, predicate_index_of

FEW = 16  # conditions that are asked once more, so that only what somebody asks for comes back


@dataclass(frozen=True, slots=True)
class Masks:
    """Primitive events over the base at `place`, and how their tuples are told apart."""

    place: int
    base: Operator
    members: tuple[FlowMember, ...]
    predicate_index: PredicateIndex
    post_aggregations: tuple[PostAggregation, ...]

    @classmethod
    def of(cls, place: int, base: Operator, primitives: Iterable[Operator]) -> Self:
        """Return the masks of primitive events that all stand on this base."""
        members = tuple(map(asking, primitives))
        return cls(
            place,
            base,
            members,
            predicate_index_of(members),
            tuple(map(flow_post_aggregation_of, members)),
        )

    def occurrences(self, run: Run) -> tuple[dict[str, pa.Table], int]:
        """Return the rows of each primitive event, by its key, and how many tuples were looked at.

        Rows carry their place among those tuples, in the order of arrival.
        """
        tuples = run.select(self._sql(run), run.leaves(), single=False, wide=self._is_wide)
        tuples = tuples.combine_chunks()  # once, since everybody takes from it
        found = {
            member.key: self._rows(run, tuples, member, post_aggregation)
            for member, post_aggregation in zip(self.members, self.post_aggregations, strict=True)
        }
        return found, tuples.num_rows

    @property
    def _is_wide(self) -> bool:
        return len(self.predicate_index.predicates) > FEW

    def _sql(self, run: Run) -> str:
        asked = [member.asked for member in self.members]
        columns = [*map(quoted, self._needed()), *map(quoted, self.predicate_index.names)]
        relation = self.predicate_index.sql(f"({run.input_sql(self.place)})")
        wanted = self.predicate_index.wanted_sql(asked) or self._asked_by_any()
        return f"SELECT {', '.join(columns) or '*'} FROM {relation} AS {INPUT}{wanted}"

    def _asked_by_any(self) -> str:
        """Return a WHERE clause that leaves out tuples that nobody asks for, where that is easy."""
        conditions = [member.conditions for member in self.members]
        if len(conditions) > FEW or not all(conditions):
            return ""
        held = (" AND ".join(f"({each})" for each in every) for every in conditions)
        return f" WHERE {' OR '.join(f'({each})' for each in held)}"

    def _needed(self) -> Sequence[str]:
        """Return the columns of the base that are shown, or all where more is done with them."""
        picks = [post_aggregation.shape.picks for post_aggregation in self.post_aggregations]
        names = self.base.schema.names
        if any(each is None for each in picks):
            return names
        wanted = {name for each in picks if each is not None for name in each.values()}
        return [name for name in names if name in wanted]

    def _rows(
        self, run: Run, tuples: pa.Table, member: FlowMember, post_aggregation: PostAggregation
    ) -> pa.Table:
        wanted = arrow_schema(member.root.schema)
        places = np.flatnonzero(asked_for(tuples, self.predicate_index, member.asked))
        if not len(places):
            return _numbered(empty_table(member.root.schema), places)
        picks = post_aggregation.shape.picks
        names = list(picks.values() if picks is not None else self.base.schema.names)
        table = tuples.select(list(dict.fromkeys(names)))
        if len(places) < tuples.num_rows:
            table = table.take(pa.array(places))
        if picks is None:
            return self._computed(run, table, member, post_aggregation, places)
        rows = pa.table([table[name] for name in names], names=list(picks))
        return _numbered(fit(rows, wanted), places)

    def _computed(
        self,
        run: Run,
        table: pa.Table,
        member: FlowMember,
        post_aggregation: PostAggregation,
        places: np.ndarray,
    ) -> pa.Table:
        """Return what Spark makes of a primitive event's tuples; it may leave some of them out."""
        mine = table.append_column(MEMBER, pa.array(np.zeros(len(places), np.int64)))
        mine = with_constants(
            mine, [member], {member.key: post_aggregation}, post_aggregation.shape.types
        )
        at = mine.column_names.index(MEMBER)
        mine = mine.set_column(at, MEMBER, pa.array(np.arange(len(places), dtype=np.int64)))
        view = run.view(f"mask_{member.key}")
        rows = run.select(
            post_aggregation.shape.sql(view), {view: ([in_memory(mine)], None)}, single=True
        )
        kept = rows[MEMBER].to_numpy()
        return _numbered(
            fit(rows.drop_columns([MEMBER]), arrow_schema(member.root.schema)), places[kept]
        )


def _numbered(table: pa.Table, places: np.ndarray) -> pa.Table:
    return table.append_column(ORDER, pa.array(places.astype(np.int64)))
