"""WindowJoin: tuples of two inputs that are there together (decision 0006).

A tuple is there from its time m until u = m + the width of its window. Two tuples meet where each
is there at the time of the later one: l.m <= r.u and r.m <= l.u. What they make is met at
greatest(l.m, r.m) and stays until least(l.u, r.u), so that a chain of joins says of all its inputs
that they are there at the time of the latest.

A run joins what is new with everything, each pair once whatever the cut (DCAPE-06):

    new left x (old right + new right)  +  old left x new right

A tuple that has no partner is known to have none once the other side's watermark has passed its u.

Tuples meet by the hash of their keys. Where keys are few they can meet by key and time bucket
(`time_buckets`): the rows are the same, and fewer pairs are compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.model.own_names import LEFT, RIGHT, own
from penstock.model.schema import Column, Schema, quoted
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators.joins.time_buckets import BUCKET, bucket_sql, spread_sql
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.windows.span_text import span_text

MET, UNTIL = own("met"), own("until")
HIDDEN = (MET, UNTIL)
SIDES = (LEFT, RIGHT)
PRESERVED = {"LEFT": (0,), "RIGHT": (1,), "FULL": (0, 1), "LEFT SEMI": (0,), "LEFT ANTI": (0,)}
LONE = ("LEFT SEMI", "LEFT ANTI")  # what gives tuples of the left alone
KINDS = ("INNER", *PRESERVED)
Marks = tuple[int, int]
# A hash table of one side's rows, where they are or sent to every worker.
HASH, BROADCAST = "SHUFFLE_HASH", "BROADCAST"


# Rows that are spread are two each. Those that are looked up are held in memory, so they are spread
# only where they are so much fewer than the others; else the others are, which stream by.
MUCH_FEWER = 4


@dataclass(frozen=True, slots=True)
class How:
    """How Spark should join: the rows of the side that has fewer are looked up by the other's.

    With `by_time` they are looked up by their time bucket, too.
    """

    kind: str = HASH
    counts: Mapping[str, int] = field(default_factory=dict)
    by_time: bool = False

    def hint(self, left: str, right: str) -> str:
        """Return the hint for two relations."""
        return f"{self.kind}({SIDES[self._looked_up(left, right)]})"

    def spread(self, left: str, right: str) -> int | None:
        """Return the side whose rows are spread over time buckets, if one's are."""
        if not self.by_time:
            return None
        few, many = sorted(self.counts.get(name, 0) for name in (left, right))
        looked_up = self._looked_up(left, right)
        return looked_up if few * MUCH_FEWER <= many else 1 - looked_up

    def _looked_up(self, left: str, right: str) -> int:
        """Return the side that has fewer rows; of what is not counted, the new ones."""
        if not self.counts:
            return int(right.startswith("new"))
        return int(self.counts.get(left, 0) >= self.counts.get(right, 0))


PLAINLY = How()


@dataclass(frozen=True, slots=True)
class JoinSide:
    """One input: the time of its tuples, how long they stay, and the columns that go on.

    `columns` are (column of the input, name in the output). Of `lags`, each names a column of event
    time and by how much, at most, it lies behind the tuple's m. Where the input `carries` m and u
    itself, `width` is the longest that one of its tuples stays.
    """

    time: EventTime
    width: int
    columns: tuple[tuple[str, str], ...]
    lags: tuple[tuple[str, int], ...] = ()
    carries: bool = False

    def met_sql(self, schema: Schema) -> str:
        """Return m of an input row."""
        if self.carries:
            return MET
        known = schema.find(self.time.column)
        is_number = known is not None and known.type == "bigint"
        column = quoted(self.time.column)
        return column if is_number else f"unix_micros({column})"

    def until_sql(self, schema: Schema) -> str:
        """Return u of an input row."""
        return UNTIL if self.carries else f"{self.met_sql(schema)} + {self.width}L"


@dataclass(frozen=True, slots=True)
class WindowJoin:
    """`on` speaks of the inputs' columns as l.x and r.x; with `carry` the output has m and u."""

    left: Operator
    right: Operator
    sides: tuple[JoinSide, JoinSide]
    kind: str
    on: str
    carry: bool = False

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return both sides."""
        return (self.left, self.right)

    @property
    def schema(self) -> Schema:
        """Return the columns of both sides, or of the left alone."""
        hidden = (Column(MET, "bigint"), Column(UNTIL, "bigint")) if self.carry else ()
        return Schema((*self._columns(0), *(() if self.is_lone else self._columns(1)), *hidden))

    @property
    def late_schema(self) -> Schema:
        """Return the columns of both sides: a tuple that came too late has those of its own."""
        return Schema((*self._columns(0), *self._columns(1)))

    @property
    def is_lone(self) -> bool:
        """Say whether the output is tuples of the left alone."""
        return self.kind in LONE

    @property
    def preserved(self) -> tuple[int, ...]:
        """Return the sides whose tuples come, or are decided upon, without a partner."""
        return PRESERVED.get(self.kind, ())

    @property
    def width(self) -> int:
        """Return the longest that a row of the output stays."""
        widths = [side.width for side in self.sides]
        return max(widths[place] for place in self.preserved) if self.preserved else min(widths)

    @property
    def lags(self) -> tuple[tuple[str, int], ...]:
        """Return the columns of event time, and how far behind m they lie at most."""
        found: list[tuple[str, int]] = []
        for place, side in enumerate(self.sides):
            if self._may_be_null(place):
                continue
            names = dict(side.columns)
            found += [(names[c], lag + side.width) for c, lag in side.lags if c in names]
        return tuple(found)

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the columns of event time of the sides that are never NULL.

        Of a side that is preserved, the promise is of its own tuples' m.
        """
        found: list[EventTime] = []
        for place, side in enumerate(self.sides):
            if self._may_be_null(place):
                continue
            names, back = dict(side.columns), 0 if place in self.preserved else side.width
            found += [EventTime(names[c], -lag - back) for c, lag in side.lags if c in names]
        return tuple(found)

    def _may_be_null(self, place: int) -> bool:
        return (place == 1 and self.is_lone) or any(each != place for each in self.preserved)

    def _columns(self, place: int) -> Iterator[Column]:
        schema = self.inputs[place].schema
        for name, out in self.sides[place].columns:
            known = schema.find(name)
            assert known is not None  # noqa: S101  (the binder took the names from there)
            yield Column(out, known.type)

    def text(self) -> str:
        """Show kind, windows and condition."""
        left, right = (_stays(side) for side in self.sides)
        on = f" on {self.on}" if self.on else ""
        columns = ", ".join(
            f"{alias}.{name}" + (f" as {out}" if out != name else "")
            for alias, side in zip((LEFT, RIGHT), self.sides, strict=True)
            for name, out in side.columns
        )
        carried = " with their times" if self.carry else ""
        return f"{self.kind.lower()} join of {left} with {right}{on}: {columns}{carried}"

    # -- marks ---------------------------------------------------------------------------

    def marks(self, marks: Sequence[int]) -> Marks:
        """Return the watermarks of both sides' m."""
        left, right = (
            shifted(mark, side.time.offset) for mark, side in zip(marks, self.sides, strict=True)
        )
        return left, right

    def promise(self, marks: Sequence[int]) -> int:
        """Return the watermark of the output's m."""
        own = self.marks(marks)
        held = [shifted(own[1 - place], -self.sides[place].width) for place in self.preserved]
        return min(*own, *held)

    def needed_from(self, place: int, marks: Marks) -> int:
        """Return the least u with which a tuple of one side still matters.

        It may meet a tuple to come, or decide about one of the other side that is not decided.
        """
        other = 1 - place
        if other not in self.preserved:
            return marks[other]
        return min(marks[other], shifted(marks[place], -self.sides[other].width))

    # -- SQL -----------------------------------------------------------------------------

    def state_schema(self, place: int) -> Schema:
        """Return what the state keeps of a side: the columns under their output names, m and u."""
        hidden = (Column(MET, "bigint"), Column(UNTIL, "bigint"))
        return Schema((*self._columns(place), *hidden))

    def state_sql(self, place: int, relation: str) -> str:
        """Return the SELECT from an input's rows to the state's."""
        side, schema = self.sides[place], self.inputs[place].schema
        columns = [f"{quoted(name)} AS {quoted(out)}" for name, out in side.columns]
        columns.append(f"{side.met_sql(schema)} AS {MET}")
        columns.append(f"{side.until_sql(schema)} AS {UNTIL}")
        return f"SELECT {', '.join(columns)} FROM {relation}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Return the batch form, for analysis."""
        left, right = (f"({self.state_sql(place, each)})" for place, each in enumerate(inputs))
        relations = {"new_l": left, "new_r": right, "all_r": right, "all_l": left}
        return self.run_sql(relations, (BEGIN_OF_TIME,) * 2, (END_OF_TIME,) * 2)

    def steps_sql(self) -> Iterator[tuple[str, str]]:
        """Yield when which SELECT runs, for those who read it; marks stand for watermarks."""
        names = [f"{what}_{side}" for side in "lr" for what in ("new", "old", "all")]
        relations = {name: name for name in names}
        yield "each run:", self.run_sql(relations, (0, 0), (1, 1))
        if self.reach:
            yield "few keys:", self.run_sql(relations, (0, 0), (1, 1), How(by_time=True))

    def run_sql(
        self, relations: Mapping[str, str], before: Marks, after: Marks, how: How = PLAINLY
    ) -> str:
        """Return the SELECT of a run over what is new, old and all of each side (new_l, old_r …).

        What has no rows is left out of `relations`; where nothing can come, the text is empty.
        `before` and `after` are the sides' watermarks.
        """
        return " UNION ALL ".join(self._branches(relations, before, after, how))

    def _branches(
        self, at: Mapping[str, str], before: Marks, after: Marks, how: How
    ) -> Iterator[str]:
        if self.kind == "LEFT SEMI":
            yield from self._first_partners(at, how)
        elif self.kind != "LEFT ANTI":
            yield from self._pairs(at, how)
        if self.kind != "LEFT SEMI":
            for place in self.preserved:
                yield from self._without_partner(at, place, (before, after), how)

    def pair_columns(self) -> list[str]:
        """Return the columns of a pair in SQL."""
        columns = [
            f"{side}.{quoted(c.name)}"
            for p, side in enumerate((LEFT, RIGHT))
            for c in self._columns(p)
        ]
        if self.carry:
            columns.append(f"greatest({LEFT}.{MET}, {RIGHT}.{MET}) AS {MET}")
            columns.append(f"least({LEFT}.{UNTIL}, {RIGHT}.{UNTIL}) AS {UNTIL}")
        return columns

    def _pairs(self, at: Mapping[str, str], how: How) -> Iterator[str]:
        columns = self.pair_columns()
        for left, right in (("new_l", "all_r"), ("old_l", "new_r")):
            if left in at and right in at:
                pairs = self._together(at[left], at[right], spread=how.spread(left, right))
                yield f"SELECT /*+ {how.hint(left, right)} */ {', '.join(columns)} FROM {pairs}"

    def _first_partners(self, at: Mapping[str, str], how: How) -> Iterator[str]:
        columns = ", ".join(quoted(c.name) for c in self.schema)
        if "new_l" in at and "all_r" in at:
            yield f"SELECT {columns} FROM {self._judged('SEMI', at['new_l'], at['all_r'], how)}"
        if "old_l" in at and "new_r" in at:
            found = f"SELECT * FROM {self._judged('SEMI', at['old_l'], at['new_r'], how)}"
            if "old_r" in at:
                found = f"SELECT * FROM {self._judged('ANTI', f'({found})', at['old_r'], how)}"
            yield f"SELECT {columns} FROM ({found})"

    def _without_partner(
        self, at: Mapping[str, str], place: int, marks: tuple[Marks, Marks], how: How
    ) -> Iterator[str]:
        """Yield the tuples of a side whose time to meet somebody has passed with this run."""
        me, other = ("l", "r") if place == 0 else ("r", "l")
        before, after = (each[1 - place] for each in marks)
        if after == BEGIN_OF_TIME:
            return
        last = [] if after == END_OF_TIME else [f"{UNTIL} < {after}L"]
        first = [] if before == BEGIN_OF_TIME else [f"{UNTIL} >= {before}L"]
        for name, bounds in ((f"new_{me}", last), (f"old_{me}", first + last)):
            if name not in at:
                continue
            where = f" WHERE {' AND '.join(bounds)}" if bounds else ""
            passed = f"SELECT * FROM {at[name]}{where}"
            if partners := at.get(f"all_{other}"):
                passed = (
                    f"SELECT * FROM {self._judged('ANTI', f'({passed})', partners, how, place)}"
                )
            yield f"SELECT {', '.join(self._alone(place))} FROM ({passed})"

    def _judged(self, kind: str, rows: str, partners: str, how: How, place: int = 0) -> str:
        """Return a side's rows that have a partner, or have none.

        Only the partners may be spread: each of these rows has to come once, or not at all.
        """
        spread = 1 - place if how.by_time else None
        return self._together(rows, partners, f"LEFT {kind} JOIN", place, spread=spread)

    def _together(
        self, first: str, second: str, join: str = "JOIN", place: int = 0, *, spread: int | None
    ) -> str:
        """Return the join of two relations, of which the first is of the side `place`."""
        if spread is not None:
            at = f"{MET} - {self.sides[1 - spread].width}L"
            if spread == place:
                first = spread_sql(first, at, self.reach)
            else:
                second = spread_sql(second, at, self.reach)
        names = SIDES[place], SIDES[1 - place]
        return f"{first} AS {names[0]} {join} {second} AS {names[1]} ON {self._meets(spread)}"

    def _alone(self, place: int) -> Iterator[str]:
        for each in (0, 1):
            if each == 1 and self.is_lone:
                continue
            for c in self._columns(each):
                yield (
                    quoted(c.name)
                    if each == place
                    else f"CAST(NULL AS {c.type}) AS {quoted(c.name)}"
                )
        if self.carry:
            yield from HIDDEN

    @property
    def reach(self) -> int:
        """Return how long the time is in which a tuple finds its partners' m; zero is one m."""
        return sum(side.width for side in self.sides)

    @property
    def meets(self) -> str:
        """Return the condition of two rows of the state."""
        return self._meets(None)

    def _meets(self, spread: int | None) -> str:
        """Return the condition of two rows, one of which may stand in time buckets.

        ON stands last: where it can fail, it fails only for tuples that are there together.
        """
        found = []
        if spread is not None:
            bucket = bucket_sql(f"{SIDES[1 - spread]}.{MET}", self.reach)
            found.append(f"{bucket} = {SIDES[spread]}.{BUCKET}")
        if self.reach:
            found.append(f"{LEFT}.{MET} <= {RIGHT}.{UNTIL} AND {RIGHT}.{MET} <= {LEFT}.{UNTIL}")
        else:
            found.append(f"{LEFT}.{MET} = {RIGHT}.{MET}")
        return " AND ".join([*found, *([self.on] if self.on else [])])


def _stays(side: JoinSide) -> str:
    return "what was joined" if side.carries else f"{span_text(side.width)} by {side.time.column}"
