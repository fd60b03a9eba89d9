"""The new tuples of one side of a shared join: who wants each, and for whom each is late."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.engine.states.joins.kept_rows import input_rows
from penstock.engine.states.sharing.audiences import Audiences, Bools, Ints
from penstock.engine.states.state import Run
from penstock.engine.states.windows.section_rows import asked_for, fit_to
from penstock.engine.trains.rows import laid_together
from penstock.engine.trains.types import arrow_schema
from penstock.model.own_names import INPUT
from penstock.model.schema import quoted
from penstock.model.trains import BEGIN_OF_TIME
from penstock.plan.operators.bundles.join_member import JoinMember
from penstock.plan.operators.joins.window_join import MET, UNTIL, WindowJoin
from penstock.plan.sharing.predicate_index import PredicateIndex, predicate_index_of
from penstock.plan.sharing.shared_join import added, bit_of

MOST_CELLS = 16_000_000  # tuples times joins that are looked at together: so many bytes, and some

Joins = Mapping[str, JoinMember]  # a member that stands for each join, by the join's key


@dataclass(frozen=True, slots=True)
class Arrived:
    """The new rows of a side, as the state keeps them, and those that came too late, by join."""

    table: pa.Table
    late: Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class JoinArrivals:
    """What comes in on the side `place` of a join, with those who may want it.

    What lies before `mark` is late, but not for joins that are `fresh`.
    """

    join: WindowJoin
    place: int
    joins: Joins
    fresh: frozenset[str]
    mark: int

    def of(self, run: Run, audiences: Audiences) -> tuple[Audiences, Arrived]:
        """Return the tuples of a run that somebody wants, and the audiences with theirs."""
        index = predicate_index_of([each.sides[self.place] for each in self.joins.values()])
        tuples, step = self._tuples(run, index), max(1, MOST_CELLS // len(audiences.names))
        wanted = arrow_schema(self.join.state_schema(self.place))
        tables, late = [wanted.empty_table()], dict[str, list[pa.Table]]()
        for start in range(0, tuples.num_rows, step):
            some = tuples.slice(start, step)
            audiences, table = self._kept(some, self._wanted(some, index, audiences), audiences)
            tables.append(fit_to(table, wanted))
            for name, missed in self._missed(some, index, audiences):
                late.setdefault(name, []).append(missed)
        return audiences, Arrived(
            laid_together(tables), {name: laid_together(each) for name, each in late.items()}
        )

    def _tuples(self, run: Run, index: PredicateIndex) -> pa.Table:
        """Return the tuples that somebody may want, with what tells them apart."""
        side, schema = self.join.sides[self.place], self.join.inputs[self.place].schema
        names = [name for name, _ in side.columns]
        table = None if index else input_rows(run, self.place, [*names, side.time.column])
        if table is not None:
            columns = [*(table[name] for name in names), table[side.time.column].cast(pa.int64())]
            return pa.table(columns, names=[*(out for _, out in side.columns), MET])
        shown = [f"{quoted(name)} AS {quoted(out)}" for name, out in side.columns]
        shown += [f"{side.met_sql(schema)} AS {MET}", *index.names]
        asked = [each.sides[self.place].asked for each in self.joins.values()]
        relation = index.sql(f"({run.input_sql(self.place)})")
        sql = f"SELECT {', '.join(shown)} FROM {relation} AS {INPUT}{index.wanted_sql(asked)}"
        leaves = {view: leaf for view, leaf in run.leaves().items() if view in sql}
        if not any(rows.count for parts, _ in leaves.values() for rows in parts):
            return pa.table({})
        return run.select(sql, leaves, single=False, wide=bool(index.predicates))

    def _wanted(self, tuples: pa.Table, index: PredicateIndex, audiences: Audiences) -> Bools:
        """Say of each tuple who wants it, in time or late."""
        wanted = np.zeros((tuples.num_rows, len(audiences.names)), dtype=bool)
        for name, member in self.joins.items():
            asked = member.sides[self.place].asked
            wanted[:, audiences.names.index(name)] = asked_for(tuples, index, asked)
        return wanted

    def _is_late(self, tuples: pa.Table) -> Bools:
        if self.mark == BEGIN_OF_TIME:
            return np.zeros(tuples.num_rows, dtype=bool)
        return np.asarray(tuples[MET].to_numpy() < self.mark)

    def _missed(
        self, tuples: pa.Table, index: PredicateIndex, audiences: Audiences
    ) -> Iterator[tuple[str, pa.Table]]:
        """Yield the tuples that come too late for each join, where some do."""
        late = tuples.filter(pa.array(self._is_late(tuples)))
        wanted = self._wanted(late, index, audiences)
        for place, name in enumerate(audiences.names):
            if name not in self.fresh and wanted[:, place].any():
                yield name, late.filter(pa.array(wanted[:, place]))

    def _kept(
        self, tuples: pa.Table, wanted: Bools, audiences: Audiences
    ) -> tuple[Audiences, pa.Table]:
        """Return the tuples that somebody wants and that are not late for all of these."""
        fresh = np.array([name in self.fresh for name in audiences.names])
        wanted[self._is_late(tuples)] &= fresh
        kept = wanted.any(axis=1)
        tuples = tuples.filter(pa.array(kept))
        audiences, numbers = audiences.of(wanted[kept])
        lasting, bits = self._facts(audiences)
        at = audiences.places(numbers)
        marks = (numbers, bits[at], tuples[MET].to_numpy() + lasting[at])
        for name, column in zip((*added(self.place), UNTIL), marks, strict=True):
            tuples = tuples.append_column(name, pa.array(column))
        return audiences, tuples

    def _facts(self, audiences: Audiences) -> tuple[Ints, Ints]:
        """Return how long rows stay for each audience, and the bits that they carry."""
        widths = [
            self.joins[name].join.sides[self.place].width if name in self.joins else 0
            for name in audiences.names
        ]
        lasting = np.where(audiences.wanted, np.array(widths, dtype=np.int64), 0).max(axis=1)
        bits = np.where(audiences.wanted, np.array(list(map(bit_of, audiences.names))), 0)
        return lasting, np.bitwise_or.reduce(bits, axis=1)
