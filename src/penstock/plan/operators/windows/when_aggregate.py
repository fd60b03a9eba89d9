"""WhenAggregate: a window closes with the tuple at which a condition over its content first holds.

    new tuples + open windows --fold_sql--> open windows, and the numbers of the closing tuples
    kept tuples + those numbers --close_sql--> rows

The condition is folded over each group's tuples in order, so a tuple is looked at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.model.own_names import INPUT, LEFT, RIGHT, own
from penstock.model.schema import Schema, quoted
from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.algebra.folds import Fold
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.tuples.ordered import NUMBER
from penstock.plan.operators.windows.grouping_sets import each_set_sql, sets_text
from penstock.plan.operators.windows.window_aggregate import END, START

# Of their own kind: kept tuples may carry the number that their input gave them.
N, AT, ITEMS = own("when_n"), own("when_at"), own("when_items")
COUNT, SINCE, BASE, CLOSED = own("count"), own("since"), own("base"), own("closed")
NEXT, IS_TUPLE, FOLD = own("next"), own("is_tuple"), own("fold")
FIRST, LAST, DONE = own("first"), own("last"), own("done")
# Variables of lambdas: groups before a slice, after it and in between, slices, tuples, numbers.
GROUP, AFTER, WAS, PART, TUPLE, PLACE = map(own, ("g", "r", "s", "p", "t", "i"))
# Spark copies what a fold has with every step, all closing numbers too: so they are gathered slice
# by slice of so many tuples, and laid together only behind a slice.
SLICE = 200
NO_NUMBERS = "CAST(array() AS array<bigint>)"


@dataclass(frozen=True, slots=True)
class WhenAggregate:
    """`keys` are (name, SQL); `condition` is SQL over the folds' values {0}, {1} and so on.

    The output is start, end, keys, aggregates. `raw` are the columns that are kept of a tuple.
    """

    input: Operator
    condition: str
    folds: tuple[Fold, ...]
    keys: tuple[tuple[str, str], ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    raw: tuple[str, ...]
    schema: Schema
    sets: int = 0

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def time(self) -> EventTime | None:
        """Return the event time of the input."""
        return self.input.times[0] if self.input.times else None

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the end, which is the time of the closing tuple."""
        return (EventTime(END),) if self.time else ()

    @property
    def names(self) -> list[str]:
        """Return the names of the keys."""
        return [name for name, _ in self.keys]

    def text(self) -> str:
        """Show condition, keys and aggregates."""
        condition = self.condition.format(*(fold.text for fold in self.folds))
        keys = ", ".join(sql for _, sql in self.keys) or "nothing"
        aggregates = ", ".join(aggregate.text for _, aggregate in self.aggregates)
        return f"windows when {condition} per {keys}: {aggregates}{sets_text(self.sets)}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Return the batch form, for analysis."""
        tuples = f"({self.tuples_sql(inputs[0])})"
        closings = ", ".join([*self.names, BASE, f"explode({CLOSED}) AS {NEXT}"])
        return self.close_sql(tuples, f"(SELECT {closings} FROM ({self.fold_sql(tuples)}))")

    def tuples_sql(self, relation: str) -> str:
        """Return the SELECT of what has to be known of a tuple."""
        columns = [quoted(name) for name in self.raw]
        columns += [f"{sql} AS {name}" for name, sql in self.keys]
        columns += [f"{sql} AS {name}" for name, sql in self._arguments()]
        at = f"unix_micros({quoted(self.time.column)})" if self.time else NUMBER
        columns += [f"{at} AS {AT}", f"{NUMBER} AS {N}"]
        return f"SELECT {', '.join(columns)} FROM {each_set_sql(relation, self.sets)} AS {INPUT}"

    def fold_sql(self, tuples: str, state: str | None = None) -> str:
        """Return the SELECT of every group: its open window, and which tuples closed one."""
        fields = [name for name, _, _ in self._fields()]
        item = ", ".join([N, AT, *(name for name, _ in self._arguments())])
        by = f" GROUP BY {', '.join(self.names)}" if self.keys else ""
        gathered = f"sort_array(collect_list(struct({item}))) AS {ITEMS}"
        groups = f"SELECT {', '.join([*self.names, gathered])} FROM {tuples}{by}"
        zeros = [f"{zero} AS {name}" for name, zero, _ in self._fields()]
        known = f"SELECT {', '.join([*self.names, ITEMS, *zeros])} FROM ({groups})"
        if state is not None:
            nothing = [f"CAST(NULL AS {kind}) AS {name}" for name, _, kind in self._fields()]
            new = f"SELECT {', '.join([*self.names, ITEMS, *nothing])} FROM ({groups})"
            old = f"SELECT {', '.join([*self.names, f'NULL AS {ITEMS}', *fields])} FROM {state}"
            met = [f"first({name}, true) AS {name}" for name in (ITEMS, *fields)]
            both = f"SELECT {', '.join([*self.names, *met])} FROM ({new} UNION ALL {old}){by}"
            held = [
                f"{name}" if zero.startswith("CAST(NULL") else f"coalesce({name}, {zero}) AS {name}"
                for name, zero, _ in self._fields()
            ]
            known = f"SELECT {', '.join([*self.names, ITEMS, *held])} FROM ({both})"
        folded = f"{self._folded(f'coalesce({ITEMS}, array())')} AS {FOLD}"
        columns = ", ".join([*self.names, f"{SINCE} AS {BASE}", folded])
        shown = [*self.names, BASE, *self._settled(), f"{self._closed()} AS {CLOSED}"]
        return f"SELECT {', '.join(shown)} FROM (SELECT {columns} FROM ({known}))"

    def close_sql(self, tuples: str, closings: str) -> str:
        """Return the SELECT of the windows that end with the tuples numbered in `closings`."""
        raw = [quoted(name) for name in self.raw]
        rows = ", ".join([*raw, *self.names, AT, N, f"CAST(NULL AS BIGINT) AS {NEXT}"])
        rows = f"SELECT {rows}, CAST(NULL AS BIGINT) AS {BASE}, true AS {IS_TUPLE} FROM {tuples}"
        ends = ", ".join([*(f"NULL AS {name}" for name in raw), *self.names, f"NULL AS {AT}"])
        ends = f"SELECT {ends}, {NEXT} AS {N}, {NEXT}, {BASE}, false AS {IS_TUPLE} FROM {closings}"
        part = f"PARTITION BY {', '.join(self.names)} " if self.keys else ""
        # Backwards, since Spark computes what follows a tuple anew for each.
        following = f"min({NEXT}) OVER ({part}ORDER BY {N} DESC)"
        columns = [*raw, *self.names, AT, N, IS_TUPLE, f"{following} AS {NEXT}"]
        columns.append(f"max({BASE}) OVER ({part.strip()}) AS {BASE}")
        placed = f"SELECT {', '.join(columns)} FROM ({rows} UNION ALL {ends})"
        groups = [*self.names, NEXT]
        ordered = (
            f"SELECT * FROM ({placed}) WHERE {IS_TUPLE} AND {NEXT} IS NOT NULL AND {N} > {BASE} "
            f"DISTRIBUTE BY {', '.join(groups)} SORT BY {', '.join([*groups, N])}"
        )
        partials = [part for name, each in self.aggregates for part in each.partial_sql(name)]
        gathered = [*groups, f"min({AT}) AS {FIRST}", f"max({AT}) AS {LAST}"]
        gathered += [f"{sql} AS {name}" for name, sql in partials]
        whole = (
            f"SELECT {', '.join(gathered)} FROM ({ordered}) AS {INPUT} GROUP BY {', '.join(groups)}"
        )
        moment = "timestamp_micros({})" if self.time else "{}"
        shown = [
            f"{moment.format(FIRST)} AS {START}",
            f"{moment.format(LAST)} AS {END}",
            *self.names,
            *(f"{each.finish_sql(name)} AS {name}" for name, each in self.aggregates),
        ]
        return f"SELECT {', '.join(shown)} FROM ({whole})"

    def needed_sql(self, tuples: str, state: str) -> str:
        """Return the SELECT of the kept tuples of open windows."""
        same = [f"{LEFT}.{name} <=> {RIGHT}.{name}" for name in self.names]
        on = " AND ".join([*same, f"{RIGHT}.{COUNT} > 0", f"{LEFT}.{N} > {RIGHT}.{SINCE}"])
        return f"SELECT {LEFT}.* FROM {tuples} AS {LEFT} LEFT SEMI JOIN {state} AS {RIGHT} ON {on}"

    def steps_sql(self) -> Iterator[tuple[str, str]]:
        """Return when which SELECT runs, for EXPLAIN."""
        yield "keeps:", self.tuples_sql("input")
        yield "then:", self.fold_sql("tuples", "groups")
        yield "at a close:", self.close_sql("kept_tuples", "closings")

    def _arguments(self) -> list[tuple[str, str]]:
        return [
            (_argument(place, at), sql)
            for place, fold in enumerate(self.folds)
            for at, sql in enumerate(fold.arguments)
        ]

    def _fields(self) -> list[tuple[str, str, str]]:
        """Return what is known of an open window: name, what it is at first, type."""
        fixed = [(COUNT, "0L", "bigint"), (SINCE, "0L", "bigint")]
        fixed += [(name, "CAST(NULL AS bigint)", "bigint") for name in (N, AT)]
        return fixed + [
            (_field(place, at), _typed(field.zero, field.type), field.type)
            for place, fold in enumerate(self.folds)
            for at, field in enumerate(fold.fields)
        ]

    def _folded(self, items: str) -> str:
        """Return every group after its tuples, slice by slice."""
        fields = [*(name for name, _, _ in self._fields()), DONE]
        first = {name: name for name in fields} | {DONE: "false", CLOSED: NO_NUMBERS}
        begun = {name: f"{GROUP}.{name}" for name in fields} | {CLOSED: NO_NUMBERS}
        ended = {name: f"{AFTER}.{name}" for name in fields}
        ended[CLOSED] = f"concat({GROUP}.{CLOSED}, {AFTER}.{CLOSED})"
        last = f"CAST(greatest(size({items}) - 1, 0) div {SLICE} AS INT)"
        cut = f"slice({items}, {PLACE} * {SLICE} + 1, {SLICE})"
        step = f"({WAS}, {TUPLE}) -> {self._step()}"
        inner = f"aggregate({PART}, {_struct(begun)}, {step}, {AFTER} -> {_struct(ended)})"
        slices = f"transform(sequence(0, {last}), {PLACE} -> {cut})"
        return f"aggregate({slices}, {_struct(first)}, ({GROUP}, {PART}) -> {inner})"

    def _step(self) -> str:
        """Return a group with one tuple more.

        A window that is done gives way to a new one only with the next tuple: so a step looks at
        nothing twice but what the condition needs.
        """
        after = {
            COUNT: f"{_was(COUNT, '0L')} + 1L",
            SINCE: f"CASE WHEN {WAS}.{DONE} THEN {WAS}.{N} ELSE {WAS}.{SINCE} END",
            N: f"{TUPLE}.{N}",
            AT: f"{TUPLE}.{AT}",
        }
        stepped = [self._stepped(place) for place in range(len(self.folds))]
        for place, fields in enumerate(stepped):
            after |= {_field(place, at): sql for at, sql in enumerate(fields)}
        values = [
            f"({fold.value.format(**{f'f{at}': sql for at, sql in enumerate(fields)})})"
            for fold, fields in zip(self.folds, stepped, strict=True)
        ]
        after[DONE] = f"coalesce({self.condition.format(*values)}, false)"
        closed = f"{WAS}.{CLOSED}"
        after[CLOSED] = (
            f"CASE WHEN {WAS}.{DONE} THEN concat({closed}, array({WAS}.{N})) ELSE {closed} END"
        )
        return _struct(after)

    def _stepped(self, place: int) -> list[str]:
        """Return the fields of a fold after one tuple more."""
        fold = self.folds[place]
        names = {
            f"f{at}": _was(_field(place, at), _typed(field.zero, field.type))
            for at, field in enumerate(fold.fields)
        }
        names |= {f"x{at}": f"{TUPLE}.{_argument(place, at)}" for at in range(len(fold.arguments))}
        return [
            f"CAST({field.step.format(**names, count=_was(COUNT, '0L'))} AS {field.type})"
            for field in fold.fields
        ]

    def _settled(self) -> list[str]:
        """Return the open windows after a run, a new one where the last tuple closed one."""
        fresh = {name: zero for name, zero, _ in self._fields()} | {SINCE: f"{FOLD}.{N}"}
        return [
            f"CASE WHEN {FOLD}.{DONE} THEN {sql} ELSE {FOLD}.{name} END AS {name}"
            for name, sql in fresh.items()
        ]

    def _closed(self) -> str:
        last = f"CASE WHEN {FOLD}.{DONE} THEN array({FOLD}.{N}) ELSE {NO_NUMBERS} END"
        return f"concat({FOLD}.{CLOSED}, {last})"


def _argument(place: int, at: int) -> str:
    return own(f"x{place}_{at}")


def _field(place: int, at: int) -> str:
    return own(f"f{place}_{at}")


def _was(name: str, zero: str) -> str:
    """Return a field of the window that a tuple comes into."""
    return f"(CASE WHEN {WAS}.{DONE} THEN {zero} ELSE {WAS}.{name} END)"


def _typed(zero: str, kind: str) -> str:
    return zero if zero != "NULL" else f"CAST(NULL AS {kind})"


def _struct(fields: dict[str, str]) -> str:
    listed = ", ".join(f"'{name}', {sql}" for name, sql in fields.items())
    return f"named_struct({listed})"
