"""Joins of streams: which tuples meet, for how long, and which part of WHERE says so."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.model.own_names import LEFT, RIGHT, own
from penstock.model.windows import RangeWindow, RowsWindow, Window
from penstock.plan.algebra.aggregates import is_aggregate
from penstock.plan.algebra.clauses import conjuncts, in_order, refuse_deep
from penstock.plan.algebra.scope import Relation, Scope, over_columns, place_of, plain, relation
from penstock.plan.operators import EventTime, Filter, Operator
from penstock.plan.operators.joins.window_join import HIDDEN, KINDS, MET, JoinSide, WindowJoin
from penstock.plan.operators.orders import orders_of
from penstock.plan.relations.meanings import meanings
from penstock.plan.relations.sources import Analyst

MICROSECOND = timedelta(microseconds=1)
LEAVES = (own("left"), own("right"))  # the names under which the analyst sees both sides
INNER = ("INNER", "CROSS")
Columns = tuple[tuple[str, str], ...]
Names = dict[str, str]  # of a side's columns in the join's output


@dataclass(frozen=True, slots=True)
class JoinedStream:
    """A stream of FROM: its rows, its name, its window, how it is joined (the first is not)."""

    operator: Operator
    alias: str
    window: Window | None
    join: exp.Join | None

    @property
    def kind(self) -> str:
        """Return how it is joined to what stands before it."""
        return join_kind(self.join)

    def relation(self) -> Relation:
        """Return the entry as it is in sight by itself."""
        return relation(self.alias, self.operator.schema.names, plain)


@dataclass(frozen=True, slots=True)
class Joined:
    """What has been joined up to here; `side` is how the next join sees it."""

    operator: Operator
    scope: Scope
    side: JoinSide
    bracketed: bool


def join_kind(join: exp.Join | None) -> str:
    """Return INNER, CROSS, LEFT, RIGHT, FULL, LEFT SEMI or LEFT ANTI."""
    if join is None:
        return "CROSS"
    side, kind = join.side.upper(), join.kind.upper()
    if method := join.args.get("method"):
        raise unknown_kind(str(method).upper(), join)
    wanted = "LEFT " + kind if kind in ("SEMI", "ANTI") else side or kind or "INNER"
    if wanted == "INNER" and not (join.args.get("on") or join.args.get("using")):
        return "CROSS"
    return wanted


def unknown_kind(kind: str, join: exp.Join | None) -> BadQueryError:
    """Return the error for a join that Spark does not have, or that streams cannot do."""
    return BadQueryError(
        f"{kind} JOIN of streams does not run",
        hint="INNER, CROSS, LEFT, RIGHT, FULL, LEFT SEMI and LEFT ANTI do",
        place=None if join is None else place_of(join),
    )


def names_asked(select: exp.Select, alias: str) -> frozenset[str] | None:
    """Return the names (lower case) of columns that a SELECT may mean, None for all of the alias.

    More names than needed do no harm: fields and aliases are among them.
    """
    asked = [*select.expressions, *(each for each in (select.args.get("having"),) if each)]
    for star in (star for node in asked for star in node.find_all(exp.Star)):
        above = star.parent
        if isinstance(above, exp.Count):
            continue
        if not isinstance(above, exp.Column) or above.table.lower() == alias.lower():
            return None
    names = {part.name.lower() for each in select.find_all(exp.Column) for part in each.parts}
    for join in select.args.get("joins") or ():
        names |= {each.name.lower() for each in join.args.get("using") or ()}
    return frozenset(names)


BY_ANOTHER = (
    "without windows each stream is equal to one before it, both in columns that order them "
    "(ORDERED BY), and is joined by one of these; by another one join in a SELECT above: "
    "FROM (SELECT … FROM a JOIN b ON …) AS ab JOIN c ON ab.m = c.m"
)


def begun(entry: JoinedStream) -> Joined:
    """Return one stream as a side of a join."""
    time = event_time(entry)
    width = entry.window.size // MICROSECOND if isinstance(entry.window, RangeWindow) else 0
    side = JoinSide(time, width, (), ((time.column, 0),))
    return Joined(entry.operator, Scope((entry.relation(),)), side, entry.window is not None)


def event_time(entry: JoinedStream) -> EventTime:
    """Return the event time by which a stream is joined, or raise where it has none."""
    if not entry.operator.times:
        raise BadQueryError(
            f"a join needs the event time of {entry.alias}",
            hint=BY_ANOTHER
            if orders_of(entry.operator)
            else "give the stream TIMESTAMP BY, or select window_start in the query below",
        )
    time = entry.operator.times[0]
    known = entry.operator.schema.find(time.column)
    if isinstance(entry.window, RangeWindow) and known is not None and known.type == "bigint":
        raise BadQueryError(
            f"{entry.alias} counts tuples, and RANGE is of time",
            hint="join it by equal numbers and without windows",
        )
    return time


@dataclass(frozen=True, slots=True)
class Where:
    """The conjuncts of a WHERE, each with the inputs that it speaks of (lower case)."""

    parts: tuple[tuple[exp.Expr, frozenset[str]], ...] = ()

    @classmethod
    def of(cls, where: exp.Expr | None, scope: Scope) -> "Where":
        """Return what a WHERE says of the inputs of a scope."""
        if where is None:
            return cls()
        tagged = Scope(
            tuple(
                replace(
                    relation(each.alias, (n for n, _ in each.columns), _tagging(each.alias)),
                    merged=each.merged,
                )
                for each in scope.relations
            )
        )
        return cls(tuple((each, _inputs(tagged.resolve(each))) for each in conjuncts(where)))

    def about(self, *, some: Iterable[str], within: Iterable[str]) -> list[exp.Expr]:
        """Return the conjuncts that speak of one of `some` and of nothing beyond `within`."""
        wanted, known = {s.lower() for s in some}, {s.lower() for s in within}
        return [each for each, inputs in self.parts if inputs & wanted and inputs <= known]

    def beside(self, taken: Iterable[exp.Expr]) -> "Where":
        """Return the conjuncts that were not taken."""
        gone = {id(each) for each in taken}
        return Where(tuple(each for each in self.parts if id(each[0]) not in gone))

    def without(self, taken: Iterable[exp.Expr]) -> exp.Expr | None:
        """Return the condition that is left."""
        gone = {id(each) for each in taken}
        left = [each.copy() for each, _ in self.parts if id(each) not in gone]
        return exp.and_(*left) if left else None


def _tagging(alias: str) -> Callable[[str], exp.Expr]:
    return lambda name: exp.column(exp.to_identifier(name, quoted=True), table=alias)


def _inputs(node: exp.Expr) -> frozenset[str]:
    if any(is_aggregate(each) for each in node.walk()):
        return frozenset()  # it stays where its error is told
    return frozenset(column.table.lower() for column in node.find_all(exp.Column) if column.table)


@dataclass(frozen=True, slots=True)
class JoinBinder:
    """Binds joins of spans; `select` is where the FROM stands, `analyst` judges conditions.

    `where` is what may be taken from WHERE, and `taken` what has been.
    """

    select: exp.Select
    analyst: Analyst
    where: Where
    taken: list[exp.Expr] = field(default_factory=list)

    def filtered(self, entry: JoinedStream) -> JoinedStream:
        """Return the stream with the conditions of WHERE that speak of it alone."""
        conditions = self._take(some=[entry.alias], within=[entry.alias])
        if not conditions:
            return entry
        scope = Scope((entry.relation(),))
        resolved = map(scope.resolve, conditions)
        kept = Filter(entry.operator, in_order(resolved, entry.operator.schema))
        self.analyst.schema(kept.sql([LEAVES[0]]), {LEAVES[0]: entry.operator.schema})
        return replace(entry, operator=kept)

    def _take(self, *, some: Iterable[str], within: Iterable[str]) -> list[exp.Expr]:
        gone = {id(each) for each in self.taken}
        found = [e for e in self.where.about(some=some, within=within) if id(e) not in gone]
        self.taken.extend(found)
        return found

    def join(self, left: Joined, entry: JoinedStream, *, last: bool) -> Joined:
        """Return what has been joined with one stream more."""
        kind = "INNER" if entry.kind == "CROSS" else entry.kind
        if kind not in KINDS:
            raise unknown_kind(kind, entry.join)
        right = begun(entry)
        taken, names = self._outputs(left, entry)
        seen = _seen(left.scope, names[0], LEFT), _seen(right.scope, names[1], RIGHT)
        both = Scope((*seen[0].relations, *seen[1].relations))
        extra = self._take(some=[entry.alias], within=[each.alias for each in both.relations])
        on = [*condition_of(entry.join, both, *seen), *(both.resolve(each) for each in extra)]
        left, right = self._bounded(left, right, on, names, entry)
        sides = tuple(
            replace(each.side, columns=columns)
            for each, columns in zip((left, right), taken, strict=True)
        )
        text = " AND ".join(f"({each})" for each in in_order(on))
        if not text and entry.kind not in INNER:
            raise BadQueryError(f"{entry.kind} JOIN needs ON")
        made = WindowJoin(
            left.operator, right.operator, (sides[0], sides[1]), kind, text, carry=not last
        )
        inputs = dict(zip(LEAVES, (each.schema for each in made.inputs), strict=True))
        self.analyst.schema(made.sql(list(LEAVES)), inputs, meanings(made))
        return self._after(made, left, entry, names)

    def _after(
        self, made: WindowJoin, left: Joined, entry: JoinedStream, names: tuple[Names, Names]
    ) -> Joined:
        relations = _renamed(left.scope, names[0])
        if not made.is_lone:
            right = _renamed(Scope((entry.relation(),)), names[1])
            relations = merged(entry.join, (*relations, *right))
        side = JoinSide(EventTime(MET), made.width, (), made.lags, carries=True)
        bracketed = left.bracketed or entry.window is not None
        return Joined(made, Scope(relations), side, bracketed)

    def _outputs(
        self, left: Joined, entry: JoinedStream
    ) -> tuple[tuple[Columns, Columns], tuple[Names, Names]]:
        """Return the columns of both sides that go on, and the names that they get."""
        kept = [
            name
            for name in left.operator.schema.names
            if name not in HIDDEN and self._is_wanted(name, left)
        ]
        taken = {name.lower() for name in kept}
        mine = tuple((name, name) for name in kept)
        wanted = names_asked(self.select, entry.alias)
        times = {time.column for time in entry.operator.times}
        other: list[tuple[str, str]] = []
        for name in entry.operator.schema.names:
            if wanted is None or name.lower() in wanted or name in times:
                out = name
                while out.lower() in taken:
                    out = f"r_{out}"
                taken.add(out.lower())
                other.append((name, out))
        return (mine, tuple(other)), (dict(mine), dict(other))

    def _is_wanted(self, name: str, left: Joined) -> bool:
        """Say whether a column of the left is asked for, or is an event time."""
        if name in {column for column, _ in left.side.lags}:
            return True
        for each in left.scope.relations:
            wanted = names_asked(self.select, each.alias)
            for known, written in each.columns:
                if written.name == name and (wanted is None or known.lower() in wanted):
                    return True
        return False

    def _bounded(
        self,
        left: Joined,
        right: Joined,
        on: Iterable[exp.Expr],
        names: tuple[Names, Names],
        entry: JoinedStream,
    ) -> tuple[Joined, Joined]:
        """Return the sides with what bounds them: windows, or equal event times."""
        if left.bracketed and right.bracketed:
            return left, right
        if left.bracketed != right.bracketed:
            name = entry.alias if left.bracketed else left.scope.relations[0].alias
            raise BadQueryError(
                f"{name} has no window, and what it is joined with has one",
                hint=f"give {name} one too, such as {name} [RANGE 2 MINUTES]",
                place=place_of(entry.join) if entry.join else None,
            )
        for node in on:
            if (times := _equal_times(node, (left, right), names)) is not None:
                mine, other = (
                    replace(each, side=replace(each.side, time=time, lags=((time.column, 0),)))
                    for each, time in zip((left, right), times, strict=True)
                )
                return (left if left.side.carries else mine), other
        raise BadQueryError(
            "a join of streams without a bound would keep everything in memory",
            hint=(
                "give both a window, such as a [RANGE 2 MINUTES] JOIN b [RANGE 2 MINUTES], "
                "or join by event times that are equal"
            ),
            place=place_of(entry.join) if entry.join else None,
        )


def _equal_times(
    node: exp.Expr, sides: tuple[Joined, Joined], names: tuple[Names, Names]
) -> tuple[EventTime, EventTime] | None:
    """Return the event times of both sides that a condition says are equal."""
    if not isinstance(node, exp.EQ):
        return None
    columns = [each for each in (node.left, node.right) if isinstance(each, exp.Column)]
    found: list[EventTime] = []
    for name, each, outputs in zip((LEFT, RIGHT), sides, names, strict=True):
        mine = [column.name for column in columns if column.table == name]
        found += [time for column, time in _times_of(each) if outputs.get(column) in mine][:1]
    return (found[0], found[1]) if len(found) == len(sides) else None


def _times_of(each: Joined) -> list[tuple[str, EventTime]]:
    if each.side.carries:  # joined by equal times below: all of them are m itself
        return [(column, each.side.time) for column, lag in each.side.lags if lag == 0]
    return [(time.column, time) for time in each.operator.times]


def _seen(scope: Scope, names: Names, side: str) -> Scope:
    """Return the scope as a condition over the state's rows sees it."""

    def seen(name: str) -> exp.Expr:
        return exp.column(exp.to_identifier(names[name], quoted=True), table=side)

    return Scope(_over(scope, names, seen))


def _renamed(scope: Scope, names: Names) -> tuple[Relation, ...]:
    return _over(scope, names, lambda name: plain(names[name]))


def _over(scope: Scope, names: Names, write: Callable[[str], exp.Expr]) -> tuple[Relation, ...]:
    """Return the relations over the columns of `names`, without what needs others."""
    return tuple(
        replace(
            each,
            columns=tuple(
                (known, over_columns(sql, write))
                for known, sql in each.columns
                if all(column.name in names for column in sql.find_all(exp.Column))
            ),
        )
        for each in scope.relations
    )


def merged(join: exp.Join | None, relations: Sequence[Relation]) -> tuple[Relation, ...]:
    """Return the relations of a join, the last being the right side, with what USING made one.

    A name alone then means the side whose rows are all there; of FULL, the one that is there. As in
    Spark these columns come first: they are a relation of their own, without a name.
    """
    named = [each.name for each in (join and join.args.get("using")) or ()]
    using, kind = frozenset(name.lower() for name in named), join_kind(join)
    if not using:
        return tuple(relations)
    *left, right = relations
    sides = Scope(tuple(left)), Scope((right,))
    keys = Relation("", tuple((name, _key(name, kind, *sides)) for name in named))
    return (keys, *(replace(each, merged=each.merged | using) for each in relations))


def _key(name: str, kind: str, left: Scope, right: Scope) -> exp.Expr:
    column = exp.column(exp.to_identifier(name, quoted=True))
    if kind == "FULL":
        return exp.Coalesce(this=left.resolve(column), expressions=[right.resolve(column)])
    return (right if kind == "RIGHT" else left).resolve(column)


def condition_of(
    join: exp.Join | None, both: Scope, left: Scope, right: Scope
) -> Iterator[exp.Expr]:
    """Yield what ON or USING says, with every column as the scopes write it."""
    if join is None:
        return
    for column in join.args.get("using") or ():
        name = exp.column(column.name)
        yield exp.EQ(this=left.resolve(name), expression=right.resolve(name))
    if on := join.args.get("on"):
        refuse_deep(on, "ON")
        yield from conjuncts(both.resolve(on))


def refuse_namesakes(scope: Scope) -> None:
    """Raise where two inputs have one name."""
    seen: set[str] = set()
    for each in (each for each in scope.relations if each.alias):
        if each.alias.lower() in seen:
            raise BadQueryError(
                f"two inputs are called {each.alias}", hint="give one of them AS a name"
            )
        seen.add(each.alias.lower())


def check_windows(entries: Sequence[JoinedStream], select: exp.Select) -> None:
    """Raise where a window cannot bound a join, or where an aggregate has none of its own."""
    for entry in entries:
        if entry.window is not None and not isinstance(entry.window, RangeWindow | RowsWindow):
            raise BadQueryError(
                f"the window of {entry.alias} cannot say who meets in a join",
                hint="[RANGE …] and [ROWS n] can",
            )
        if isinstance(entry.window, RangeWindow) and (
            entry.window.is_sampling or entry.window.offset
        ):
            raise BadQueryError(
                f"the window of {entry.alias} cannot say who meets in a join",
                hint="in a join, SLIDE is at most RANGE, and spans are counted from 1970",
            )
    slides = any(isinstance(e.window, RangeWindow) and e.window.slide for e in entries)
    if slides or not any(entry.window for entry in entries) or not _aggregates(select):
        return
    times = {time.column.lower() for entry in entries for time in entry.operator.times}
    group = select.args.get("group")
    if group and any(c.name.lower() in times for c in group.find_all(exp.Column)):
        return  # each moment is a window
    raise BadQueryError(
        "the windows of a join say who meets; the aggregate has no window",
        hint="aggregate over the join: FROM (SELECT … FROM a [RANGE …] JOIN b [RANGE …] "
        "ON …) [RANGE 1 MINUTE] AS j",
    )


def _aggregates(select: exp.Select) -> bool:
    asked = [*select.expressions, *(each for each in (select.args.get("having"),) if each)]
    calls = any(is_aggregate(each) for node in asked for each in node.walk())
    return calls or bool(select.args.get("group"))
