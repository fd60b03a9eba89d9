"""KeyedRows: the last tuples of each partition, window by window, in order.

    new tuples + counts --number_sql--> tuples numbered in their partition, and the new counts
    kept tuples ------------close_sql--> rows of the windows that are full

The input is in order and holds all tuples: `holds` is the WHERE that chooses among a window's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.model.own_names import INPUT, LEFT, RIGHT, own
from penstock.model.schema import Schema, quoted
from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.tuples.ordered import NUMBER
from penstock.plan.operators.windows.grouping_sets import each_set_sql, sets_text
from penstock.plan.operators.windows.window_aggregate import END, START

PLACE, BASE, TOTAL = own("place"), own("base"), own("total")
HOLDS, IS_LAST, IS_NEEDED = own("holds"), own("is_last"), own("is_needed")
COUNT, IS_NEW, AT, WINDOW = own("count"), own("is_new"), own("at"), own("window")


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Windows of `rows` tuples every `slide` of each `partition`; `keys` group what they hold.

    The output is start, end (inside), keys, aggregates. `raw` are the columns that are kept.
    """

    input: Operator
    partition: tuple[str, ...]
    rows: int
    slide: int
    holds: tuple[str, ...]
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
    def times(self) -> tuple[EventTime, ...]:
        """Return none: the numbers of one partition say nothing of another's."""
        return ()

    @property
    def parts(self) -> list[str]:
        """Return the names under which the partition is kept."""
        return [own(f"part{place}") for place in range(len(self.partition))]

    def text(self) -> str:
        """Show window, partition, keys and aggregates."""
        by = ", ".join(self.partition)
        where = f" where {self._condition()}" if self.holds else ""
        keys = ", ".join(sql for _, sql in self.keys) or "nothing"
        aggregates = ", ".join(aggregate.text for _, aggregate in self.aggregates)
        span = f"{self.rows} tuples every {self.slide} of each {by}"
        return f"windows of {span}{where} group by {keys}: {aggregates}{sets_text(self.sets)}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Return the batch form, for analysis."""
        numbered = self.number_sql(inputs[0])
        return self.close_sql(f"({numbered})", f"({numbered})", at_end=True)

    def number_sql(self, relation: str, counts: str | None = None) -> str:
        """Return the SELECT of the new tuples that WHERE lets through, and the last of each part.

        Each has its number in its partition, how many there were before, and how many are now.
        """
        raw = [quoted(name) for name in self.raw]
        given = [
            *raw,
            *(f"{quoted(c)} AS {p}" for c, p in zip(self.partition, self.parts, strict=True)),
            f"coalesce({self._condition()}, false) AS {HOLDS}",
            f"{NUMBER} AS {AT}",
            f"0L AS {COUNT}",
            f"1L AS {IS_NEW}",
        ]
        both = f"SELECT {', '.join(given)} FROM {relation} AS {INPUT}"
        if counts is not None:
            known = [*(f"NULL AS {name}" for name in raw), *self.parts]
            known += [f"false AS {HOLDS}", f"0L AS {AT}", COUNT, f"0L AS {IS_NEW}"]
            both = f"{both} UNION ALL SELECT {', '.join(known)} FROM {counts}"
        part = f"PARTITION BY {', '.join(self.parts)}"
        before = f"max({COUNT}) OVER ({part})"
        place = f"sum({IS_NEW}) OVER ({part} ORDER BY {AT} ROWS UNBOUNDED PRECEDING)"
        placed = (
            f"SELECT *, {before} AS {BASE}, {before} + {place} AS {PLACE}, "
            f"{before} + sum({IS_NEW}) OVER ({part}) AS {TOTAL} FROM ({both})"
        )
        shown = [*raw, *self.parts, PLACE, BASE, TOTAL, HOLDS]
        shown.append(f"{PLACE} = {TOTAL} AS {IS_LAST}")
        shown.append(f"{self._last_end()} > {TOTAL} AS {IS_NEEDED}")
        seen = f"{IS_NEW} = 1 AND ({HOLDS} OR {PLACE} = {TOTAL})"
        return f"SELECT {', '.join(shown)} FROM ({placed}) WHERE {seen}"

    def close_sql(self, tuples: str, spans: str, *, at_end: bool) -> str:
        """Return the SELECT of the windows that have become full.

        `spans` tell how many tuples each partition had and has; at the end all windows close.
        """
        same = " AND ".join(f"{LEFT}.{name} <=> {RIGHT}.{name}" for name in self.parts)
        names = ", ".join([*map(quoted, self.raw), *self.parts, PLACE])
        counted = (
            f"SELECT {', '.join(self.parts)}, max({BASE}) AS {BASE}, max({TOTAL}) AS {TOTAL} "
            f"FROM {spans} GROUP BY {', '.join(self.parts)}"
        )
        met = (
            f"SELECT {LEFT}.*, {RIGHT}.{BASE}, {RIGHT}.{TOTAL} "
            f"FROM (SELECT {names} FROM {tuples}) AS {LEFT} "
            f"JOIN ({counted}) AS {RIGHT} ON {same}"
        )
        low, high = self._numbers(at_end)
        inside = f"CASE WHEN {low} <= {high} THEN sequence({low}, {high}, 1L) END"
        spread = f"SELECT *, explode({inside}) AS {WINDOW} FROM ({met})"
        keyed = ", ".join(["*", *(f"{sql} AS {name}" for name, sql in self.keys)])
        groups = [*self.parts, WINDOW, *(name for name, _ in self.keys)]
        # In order, for those aggregates that look at it.
        ordered = (
            f"SELECT {keyed} FROM {each_set_sql(f'({spread})', self.sets)} AS {INPUT} "
            f"DISTRIBUTE BY {', '.join(groups)} SORT BY {', '.join([*groups, PLACE])}"
        )
        partials = [part for name, each in self.aggregates for part in each.partial_sql(name)]
        columns = [*groups, *(f"{sql} AS {name}" for name, sql in partials)]
        gathered = (
            f"SELECT {', '.join(columns)} FROM ({ordered}) AS {INPUT} GROUP BY {', '.join(groups)}"
        )
        shown = [
            f"1L + {WINDOW} * {self.slide}L AS {START}",
            f"{self.rows}L + {WINDOW} * {self.slide}L AS {END}",
            *(name for name, _ in self.keys),
            *(f"{each.finish_sql(name)} AS {name}" for name, each in self.aggregates),
        ]
        return f"SELECT {', '.join(shown)} FROM ({gathered})"

    def all_spans_sql(self, spans: str | None, counts: str | None) -> str:
        """Return the SELECT of all partitions' counts, before the run and now."""
        names = ", ".join(self.parts)
        found = [f"SELECT {names}, {BASE}, {TOTAL} FROM {spans}"] if spans else []
        if counts:
            found.append(f"SELECT {names}, {COUNT} AS {BASE}, {COUNT} AS {TOTAL} FROM {counts}")
        return " UNION ALL ".join(found)

    def needed_sql(self, tuples: str, counts: str) -> str:
        """Return the SELECT of the kept tuples that a window still needs."""
        same = " AND ".join(f"{LEFT}.{name} <=> {RIGHT}.{name}" for name in self.parts)
        on = f"{same} AND {self._last_end(f'{LEFT}.')} > {RIGHT}.{COUNT}"
        counted = f"({self.counts_sql(counts)}) AS {RIGHT}"
        return f"SELECT {LEFT}.* FROM {tuples} AS {LEFT} LEFT SEMI JOIN {counted} ON {on}"

    def counts_sql(self, counts: str) -> str:
        """Return the SELECT of the latest count of each partition."""
        names = ", ".join(self.parts)
        return f"SELECT {names}, max({COUNT}) AS {COUNT} FROM {counts} GROUP BY {names}"

    def steps_sql(self) -> Iterator[tuple[str, str]]:
        """Return when which SELECT runs, for EXPLAIN."""
        yield "then:", self.number_sql("input", "counts")
        yield "at a close:", self.close_sql("tuples", "spans", at_end=False)

    def _condition(self) -> str:
        return " AND ".join(f"({each})" for each in self.holds) or "true"

    def _last_end(self, side: str = "") -> str:
        """Return the end of the last window that holds a tuple."""
        return f"{self.rows}L + ({side}{PLACE} - 1L) div {self.slide}L * {self.slide}L"

    def _numbers(self, at_end: bool) -> tuple[str, str]:
        """Return the first and the last window of a tuple that close now."""
        rows, slide = f"{self.rows}L", f"{self.slide}L"
        beyond = f"({PLACE} - {rows} + {slide} - 1L) div {slide}"
        holding = f"CASE WHEN {PLACE} > {rows} THEN {beyond} ELSE 0L END"
        undone = f"CASE WHEN {BASE} >= {rows} THEN ({BASE} - {rows}) div {slide} + 1L ELSE 0L END"
        last = f"({PLACE} - 1L) div {slide}"
        full = f"CASE WHEN {TOTAL} >= {rows} THEN ({TOTAL} - {rows}) div {slide} ELSE -1L END"
        return f"greatest({holding}, {undone})", last if at_end else f"least({last}, {full})"
