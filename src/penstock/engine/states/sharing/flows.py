"""Flows of a bundle: every member gets the tuples that it asks for, and keeps nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa

from penstock.engine.states.sharing.post_aggregation import shaped
from penstock.engine.states.state import KeptState, Run, RunOutput, State
from penstock.engine.states.windows.section_rows import asked_for
from penstock.engine.trains.rows import empty_table, fit
from penstock.engine.trains.types import arrow_schema
from penstock.model.own_names import INPUT
from penstock.plan.operators import AnyBundle, FlowBundle
from penstock.plan.operators.bundles.member import Asking, FlowMember
from penstock.plan.sharing.post_aggregation import MEMBER, PostAggregation, flow_post_aggregation_of
from penstock.plan.sharing.predicate_index import PredicateIndex, predicate_index_of


@dataclass(slots=True)
class FlowState:
    """Who is here, how their tuples are told apart, and what each makes of its own."""

    bundle: FlowBundle
    predicate_index: PredicateIndex
    post_aggregations: dict[str, PostAggregation]

    @classmethod
    def new(cls, bundle: FlowBundle) -> Self:
        """Return the state of a bundle."""
        return cls(
            bundle, predicate_index_of(bundle.members), _post_aggregations(bundle.members, {})
        )

    def rearranged(self, bundle: AnyBundle, begin: int) -> None:
        """Take the members of `bundle`."""
        assert isinstance(bundle, FlowBundle)  # noqa: S101  (a bundle stays what it is)
        self.bundle, self.predicate_index = bundle, predicate_index_of(bundle.members)
        self.post_aggregations = _post_aggregations(bundle.members, self.post_aggregations)

    def take_in(self, member: Asking, alone: State | None) -> None:
        """Take nothing over: there is nothing."""

    def take_out(self, member: Asking) -> State | None:
        """Return nothing: nothing is kept."""
        return None

    def steps(self, run: Run) -> dict[str, RunOutput]:
        """Return the rows of each member, by its root, in the order of the tuples."""
        members = self.bundle.members
        found = self._rows(run, members) if run.count else {}
        return {m.key: RunOutput(found.get(m.key, empty_table(m.root.schema))) for m in members}

    def probe(self, run: Run, members: Sequence[Asking]) -> None:
        """Raise what a run would raise if only these members were here."""
        flows = tuple(each for each in members if isinstance(each, FlowMember))
        FlowState.new(replace(self.bundle, members=flows)).steps(run)

    def promises(self, marks: Sequence[int]) -> dict[str, int]:
        """Return the watermark of the input for everyone."""
        return dict.fromkeys(self.post_aggregations, marks[0])

    def kept(self) -> KeptState:
        """Return that nothing is kept."""
        return KeptState({})

    def _rows(self, run: Run, members: Sequence[FlowMember]) -> dict[str, pa.Table]:
        wanted = self.predicate_index.wanted_sql([member.asked for member in members])
        sql = f"SELECT * FROM {self.predicate_index.sql(f'({run.input_sql()})')} AS {INPUT}{wanted}"
        tuples = run.select(
            sql, run.leaves(), single=False, wide=bool(self.predicate_index.predicates)
        )
        places = [np.flatnonzero(asked_for(tuples, self.predicate_index, m.asked)) for m in members]
        rows = np.concatenate(places)
        if not len(rows):
            return {}
        whose = np.repeat(np.arange(len(members)), [len(each) for each in places])
        table = tuples.select(list(self.bundle.input.schema.names))
        table = table.take(pa.array(rows)).append_column(MEMBER, pa.array(whose))
        shape = self.post_aggregations[members[0].key].shape
        return _handed_out(shaped(run, table, members, self.post_aggregations, shape), members)


def _handed_out(table: pa.Table, members: Sequence[FlowMember]) -> dict[str, pa.Table]:
    """Return the rows of each member; they stand together, and in order."""
    owners = table[MEMBER].to_numpy()
    starts = np.searchsorted(owners, np.arange(len(members) + 1))
    schema = arrow_schema(members[0].root.schema)
    whole = fit(table.drop_columns([MEMBER]), schema).combine_chunks()
    return {
        member.key: whole.slice(start, end - start)
        for member, start, end in zip(members, starts[:-1], starts[1:], strict=True)
        if end > start
    }


def _post_aggregations(
    members: Sequence[FlowMember], known: Mapping[str, PostAggregation]
) -> dict[str, PostAggregation]:
    return {
        member.key: known.get(member.key) or flow_post_aggregation_of(member) for member in members
    }
