"""Random queries in two languages, over given sources."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.e2e.oracle.queries import Both, Query, same
from tests.fuzz.columns import ORDERED, Field, draw_literal
from tests.fuzz.expressions import A_NUMBER, OPERATORS, Expressions, Ref
from tests.fuzz.names import draw_names, written
from tests.fuzz.windows import (
    SECOND,
    Read,
    Window,
    draw_landmark,
    draw_numbers,
    draw_rows,
    draw_session,
    draw_span,
    span,
    told_apart,
)

MOMENT = Field("", "TIMESTAMP", "time", calm=False)
PLACE = Field("", "BIGINT", "int", calm=False)


@dataclass(frozen=True)
class Source:
    """What a query can read: a stream, a table or another query."""

    name: str
    fields: tuple[Field, ...]
    time: str = ""  # the name of the event time's column; a table has none
    is_numbered: bool = False  # whether the batch knows the order of its rows

    def exact(self) -> str:
        """Return its name in backticks."""
        return "`" + self.name.replace("`", "``") + "`"

    def refs(self, chance: random.Random, alias: str = "") -> list[Ref]:
        """Return its columns as a query writes them."""
        dot = f"{alias}." if alias else ""
        return [Ref(dot + written(chance, each.name), each) for each in self.fields]

    def time_ref(self, refs: Sequence[Ref]) -> str:
        """Return the text of its event time."""
        return next(ref.text for ref in refs if ref.of.name == self.time)


@dataclass(frozen=True)
class Made:
    """A query and what later ones can read of it."""

    query: Query
    source: Source


@dataclass(frozen=True)
class Output:
    """A column of a query's answer."""

    both: Both
    of: Field


@dataclass
class Writer:
    """Draws queries of all forms over the sources that there are."""

    chance: random.Random
    streams: list[Source]
    table: Source

    def draw(self, name: str) -> Made:
        """Draw a query."""
        forms: list[Callable[[str], Made]] = [
            *[self.filtered] * 3,
            *[self.aggregated] * 6,
            *[self.ranked] * 2,
            self.distinct,
            self.best,
            self.over,
            self.table_join,
            self.span_join,
            self.hop_join,
            self.united,
            self.nested,
            self.grouping_sets,
        ]
        return self.chance.choice(forms)(name)

    # -- tuples --------------------------------------------------------------------------

    def filtered(self, name: str) -> Made:
        """A filter and a projection."""
        source, alias, refs = self._one(self.streams)
        text = Expressions(self.chance, refs)
        outputs = self._values(text, keep_time=source.time_ref(refs))
        where = self._table_condition(refs) if self.chance.random() < 0.15 else text.flag()
        sql = f"{self._name(source)}{_as(alias)}{_where(where if self._often() else None)}"
        return self._made(name, outputs, sql, sql, time=0)

    def table_join(self, name: str) -> Made:
        """A join of a stream with the table."""
        source, alias, refs = self._one(self.streams, aliased=True)
        other = self._alias(but=alias)
        theirs = self.table.refs(self.chance, other)
        kind = self.chance.choice(("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "JOIN"))
        on = self._match(refs, theirs)
        seen = refs if "SEMI" in kind or "ANTI" in kind else [*refs, *theirs]
        text = Expressions(self.chance, seen)
        outputs = self._values(text, keep_time=source.time_ref(refs))
        where = Expressions(self.chance, refs).flag() if self.chance.random() < 0.4 else None
        sql = (
            f"{self._name(source)} AS {alias} {kind} {self._name(self.table)} AS {other} "
            f"ON {on}{_where(where)}"
        )
        return self._made(name, outputs, sql, sql, time=0)

    def span_join(self, name: str) -> Made:
        """A join of two streams within spans of time."""
        (one, a, refs), (two, b, theirs) = self._two()
        kind = self.chance.choice(
            ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN")
        )
        first, second = self.chance.choice((1, 5, 10)), self.chance.choice((1, 5, 10))
        on = self._match(refs, theirs)
        apart = f"unix_micros({two.time_ref(theirs)}) - unix_micros({one.time_ref(refs)})"
        near = f"{apart} BETWEEN {-second * SECOND} AND {first * SECOND}"
        seen = refs if "SEMI" in kind else [*refs, *theirs]
        outputs = self._values(Expressions(self.chance, seen))
        left, right = self._name(one), self._name(two)
        stream = (
            f"{left} [RANGE {first} SECONDS] AS {a} {kind} "
            f"{right} [RANGE {second} SECONDS] AS {b} ON {on}"
        )
        batch = f"{left} AS {a} {kind} {right} AS {b} ON ({on}) AND {near}"
        return self._made(name, outputs, stream, batch)

    def hop_join(self, name: str) -> Made:
        """A join window by window."""
        (one, a, refs), (two, b, theirs) = self._two()
        size, slide = self.chance.choice(((10, 5), (20, 20), (6, 3)))
        windows = [
            span(self._read(source, source.time_ref(source.refs(self.chance))), size, slide)
            for source in (one, two)
        ]
        on = self._match(refs, theirs)
        kind = self.chance.choice(("JOIN", "LEFT JOIN", "JOIN"))
        text = Expressions(self.chance, [*refs, *theirs])
        start = Output(Both("window_start", f"{a}.ws__"), MOMENT)
        slid = f"RANGE {size} SECONDS SLIDE {slide} SECONDS"
        stream = (
            f"{self._name(one)} [{slid}] AS {a} {kind} {self._name(two)} [{slid}] AS {b} ON {on}"
        )
        batch = (
            f"{windows[0].batch} AS {a} {kind} {windows[1].batch} AS {b} "
            f"ON {a}.ws__ = {b}.ws__ AND ({on})"
        )
        return self._made(name, [start, *self._values(text)], stream, batch, time=0)

    def united(self, name: str) -> Made:
        """A UNION of SELECTs, with the event time first."""
        branches = []
        kind = self.chance.choice(("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT"))
        titles = [written(self.chance, each) for each in draw_names(self.chance, 3)]
        for _ in range(2):
            source, alias, refs = self._one(self.streams)
            text = Expressions(self.chance, refs)
            columns = (source.time_ref(refs), text.number(), text.text())
            shown = ", ".join(
                f"{sql} AS {title}" for sql, title in zip(columns, titles, strict=True)
            )
            where = text.flag() if self._often() else None
            branches.append(f"SELECT {shown} FROM {self._name(source)}{_as(alias)}{_where(where)}")
        text_ = f" {kind} ".join(branches)
        plain = [_unquoted(title) for title in titles]
        fields = (
            replace(MOMENT, name=plain[0]),
            Field(plain[1], "BIGINT", "int", calm=True),
            Field(plain[2], "STRING", "text", calm=True),
        )
        return Made(Query(name, text_, text_), Source(name, fields, plain[0]))

    # -- windows -------------------------------------------------------------------------

    def aggregated(self, name: str) -> Made:
        """An aggregate over any window."""
        source, alias, refs = self._one(self.streams)
        window = self._window(source, alias)
        text = Expressions(self.chance, refs, source.time_ref(refs))
        keys = text.keys()
        if window.gap and not keys and self.chance.random() < 0.5:
            keys = text.keys()
        called = self._is_called(window, source, alias)
        bounds = self._bounds(window, called=called)
        outputs = [*bounds, *(Output(same(key), of) for key, of in keys)]
        outputs += [Output(*text.aggregate()) for _ in range(self.chance.randrange(1, 4))]
        where = text.flag() if self._often() else None
        having = self._having(text) if self.chance.random() < 0.2 else None
        grouped, call = [key for key, _ in keys], window.call(source.time_ref(refs))
        by = [call, *grouped] if called else grouped
        stream = (
            f"{self._name(source)}{'' if called else f' [{window.stream}]'}"
            f"{_as(alias)}{_where(where)}"
            + (f" GROUP BY {', '.join(by)}" if by else "")
            + (f" HAVING {having.stream}" if having else "")
        )
        read, batch_by = f"{window.batch}{_as(alias)}{_where(where)}", ["ws__", "we__", *grouped]
        distinct = any("(DISTINCT " in both.batch for both in _calls(outputs, having))
        if window.gap and distinct:
            read = told_apart(read, source.time_ref(refs), grouped, window.gap) + _as(alias)
        elif window.gap:
            batch_by = [call, *grouped]
            outputs = [replace(each, both=_by_function(each.both)) for each in outputs]
        batch = f"{read} GROUP BY {', '.join(batch_by)}"
        batch += f" HAVING {having.batch}" if having else ""
        return self._made(
            name, outputs, stream, batch, time=0 if window.stream[:5] == "RANGE" else None
        )

    def grouping_sets(self, name: str) -> Made:
        """ROLLUP or CUBE over spans of time."""
        source, alias, refs = self._one(self.streams)
        window = draw_span(
            self.chance, self._read(source, source.time_ref(source.refs(self.chance)))
        )
        text = Expressions(self.chance, refs)
        pool = [ref for ref in refs if ref.family in ORDERED]
        keys = self.chance.sample(pool, min(2, len(pool)))
        sets = f"{self.chance.choice(('ROLLUP', 'CUBE'))}({', '.join(key.text for key in keys)})"
        others = [ref for ref in refs if ref not in keys] or refs
        calls = [Output(*Expressions(self.chance, others).aggregate()) for _ in range(2)]
        outputs = [*self._bounds(window), *(Output(same(key.text), key.of) for key in keys), *calls]
        outputs.append(Output(same(f"grouping({keys[0].text})"), A_NUMBER))
        where = text.flag() if self.chance.random() < 0.4 else None
        stream = (
            f"{self._name(source)} [{window.stream}]{_as(alias)}{_where(where)} GROUP BY {sets}"
        )
        batch = f"{window.batch}{_as(alias)}{_where(where)} GROUP BY ws__, we__, {sets}"
        return self._made(name, outputs, stream, batch)

    def nested(self, name: str) -> Made:
        """A window over a SELECT in FROM."""
        source, alias, refs = self._one(self.streams)
        text = Expressions(self.chance, refs)
        inner = self._made("", self._values(text, keep_time=source.time_ref(refs)), "", "", time=0)
        shown = inner.source
        where = _where(text.flag() if self._often() else None)
        columns = inner.query.stream.removesuffix(" FROM ")
        below = f"({columns} FROM {self._name(source)}{_as(alias)}{where})"
        outer = self._alias()
        theirs = shown.refs(self.chance, outer if self.chance.random() < 0.5 else "")
        time = "`" + shown.time.replace("`", "``") + "`"
        window = draw_span(self.chance, Read("", time, f"{below} AS {outer}"))
        above = Expressions(self.chance, theirs)
        keys = above.keys(1)
        outputs = [*self._bounds(window), *(Output(same(key), of) for key, of in keys)]
        outputs += [Output(*above.aggregate()) for _ in range(2)]
        grouped = [key for key, _ in keys]
        stream = f"{below} AS {outer} [{window.stream}]" + (
            f" GROUP BY {', '.join(grouped)}" if grouped else ""
        )
        batch = f"{window.batch} AS {outer} GROUP BY {', '.join(['ws__', 'we__', *grouped])}"
        return self._made(name, outputs, stream, batch, time=0)

    # -- rows of one window --------------------------------------------------------------

    def distinct(self, name: str) -> Made:
        """DISTINCT rows of each window."""
        source, alias, refs = self._one(self.streams)
        window = self._window(source, alias, sessions=False)
        text = Expressions(self.chance, [ref for ref in refs if ref.family in ORDERED])
        outputs = self._values(text)
        titles = self._titles(outputs)
        where = _where(text.flag() if self._often() else None)
        stream = (
            f"SELECT DISTINCT {_named(outputs, titles, 'stream')} "
            f"FROM {self._name(source)} [{window.stream}]{_as(alias)}{where}"
        )
        inner = (
            f"SELECT DISTINCT ws__, we__, {_named(outputs, titles, 'batch')} "
            f"FROM {window.batch}{_as(alias)}{where}"
        )
        batch = f"SELECT {', '.join(titles)} FROM ({inner})"
        return Made(Query(name, stream, batch), Source(name, _fields(outputs, titles)))

    def best(self, name: str) -> Made:
        """ORDER BY … LIMIT over the tuples of each window."""
        source, alias, refs = self._one(self.streams)
        window = self._window(source, alias, sessions=False)
        text = Expressions(self.chance, [ref for ref in refs if ref.family in ORDERED])
        where = _where(text.flag() if self._often() else None)
        stream = f"{self._name(source)} [{window.stream}]{_as(alias)}{where}"
        batch = f"{window.batch}{_as(alias)}{where}"
        return self._limited(name, self._values(text), stream, batch)

    def ranked(self, name: str) -> Made:
        """ORDER BY … LIMIT or QUALIFY over the groups of each window."""
        source, alias, refs = self._one(self.streams)
        window = self._window(source, alias, sessions=False)
        text = Expressions(self.chance, refs, source.time_ref(refs))
        keys = text.keys()
        outputs = [Output(same(key), of) for key, of in keys]
        while len(outputs) < len(keys) + 2:
            call = Output(*text.aggregate())
            if call.of.family in ORDERED:
                outputs.append(call)
        where = _where(text.flag() if self._often() else None)
        grouped = [key for key, _ in keys]
        stream = f"{self._name(source)} [{window.stream}]{_as(alias)}{where}" + (
            f" GROUP BY {', '.join(grouped)}" if grouped else ""
        )
        batch = (
            f"{window.batch}{_as(alias)}{where} GROUP BY {', '.join(['ws__', 'we__', *grouped])}"
        )
        if self.chance.random() < 0.5:
            return self._limited(name, outputs, stream, batch)
        return self._qualified(name, outputs, stream, batch)

    def over(self, name: str) -> Made:
        """A function OVER the tuples of each window."""
        source, alias, refs = self._one(self.streams)
        window = draw_span(
            self.chance, self._read(source, source.time_ref(source.refs(self.chance)))
        )
        ordered = [ref for ref in refs if ref.family in ORDERED]
        text = Expressions(self.chance, ordered)
        by = ", ".join(ref.text + self.chance.choice(("", " DESC")) for ref in self._some(ordered))
        call = self.chance.choice(("rank()", "dense_rank()", "count(*)", "percent_rank()"))
        key = f", {self.chance.choice(ordered).text}" if self.chance.random() < 0.4 else ""
        numbered = Output(
            Both(
                f"{call} OVER (PARTITION BY window_start{key} ORDER BY {by})",
                f"{call} OVER (PARTITION BY ws__{key} ORDER BY {by})",
            ),
            PLACE,
        )
        outputs = [*self._bounds(window), *self._values(text), numbered]
        where = _where(text.flag() if self._often() else None)
        stream = f"{self._name(source)} [{window.stream}]{_as(alias)}{where}"
        return self._made(name, outputs, stream, f"{window.batch}{_as(alias)}{where}")

    def _limited(self, name: str, outputs: list[Output], stream: str, batch: str) -> Made:
        titles = self._titles(outputs)
        count, skipped = self.chance.choice((1, 2, 5)), self.chance.choice((0, 0, 1))
        order = [title + self.chance.choice(("", " DESC", " NULLS LAST")) for title in titles]
        self.chance.shuffle(order)
        by = ", ".join(order)
        said = f" LIMIT {count}" + (f" OFFSET {skipped}" if skipped else "")
        inner = f"SELECT {_named(outputs, titles, 'batch')}, ws__, we__ FROM {batch}"
        numbered = _numbered("row_number", by, inner)
        return Made(
            Query(
                name,
                f"SELECT {_named(outputs, titles, 'stream')} FROM {stream} ORDER BY {by}{said}",
                f"SELECT {', '.join(titles)} FROM ({numbered}) "
                f"WHERE rn__ > {skipped} AND rn__ <= {skipped + count}",
            ),
            Source(name, _fields(outputs, titles)),
        )

    def _qualified(self, name: str, outputs: list[Output], stream: str, batch: str) -> Made:
        titles = self._titles(outputs)
        by = self.chance.choice(titles) + self.chance.choice(("", " DESC"))
        most = self.chance.choice((1, 2))
        bounds = "window_start, window_end" if "LANDMARK" in stream else "window_start"
        inner = f"SELECT {_named(outputs, titles, 'batch')}, ws__, we__ FROM {batch}"
        numbered = _numbered("rank", by, inner)
        return Made(
            Query(
                name,
                f"SELECT {_named(outputs, titles, 'stream')} FROM {stream} "
                f"QUALIFY rank() OVER (PARTITION BY {bounds} ORDER BY {by}) <= {most}",
                f"SELECT {', '.join(titles)} FROM ({numbered}) WHERE rn__ <= {most}",
            ),
            Source(name, _fields(outputs, titles)),
        )

    # -- parts ---------------------------------------------------------------------------

    def _often(self) -> bool:
        return self.chance.random() < 0.7

    def _name(self, source: Source) -> str:
        return written(self.chance, source.name)

    def _alias(self, but: str = "") -> str:
        """Draw an alias that is not the written one."""
        taken = {_unquoted(but)}
        return written(self.chance, draw_names(self.chance, 1, taken)[0]).lower()

    def _one(
        self, among: Sequence[Source], *, aliased: bool = False
    ) -> tuple[Source, str, list[Ref]]:
        """Draw a source, an alias for it or none, and its columns."""
        source = self.chance.choice(among)
        alias = self._alias() if aliased or self.chance.random() < 0.3 else ""
        is_said = alias if aliased or self.chance.random() < 0.7 else ""
        return source, alias, source.refs(self.chance, is_said)

    def _two(self) -> tuple[tuple[Source, str, list[Ref]], tuple[Source, str, list[Ref]]]:
        timed = [each for each in self.streams if each.is_numbered]
        one = self._one(timed, aliased=True)
        two = self._one(timed, aliased=True)
        while _unquoted(two[1]).lower() == _unquoted(one[1]).lower():
            two = self._one(timed, aliased=True)
        return one, two

    def _read(self, source: Source, time: str) -> Read:
        exact = source.exact()
        numbered = f"{exact[:-1]}__n`" if source.is_numbered else ""
        return Read(exact, time, exact, numbered)

    def _window(self, source: Source, alias: str, *, sessions: bool = True) -> Window:
        read = self._read(source, source.time_ref(source.refs(self.chance)))
        forms: list[Callable[[random.Random, Read], Window]] = [draw_span] * 5
        if source.is_numbered:
            forms += [draw_landmark, draw_rows, draw_numbers]
        if sessions:
            forms += [draw_session] * 2
        return self.chance.choice(forms)(self.chance, read)

    def _is_called(self, window: Window, source: Source, alias: str) -> bool:
        """Say whether a window is written as Spark's function, whose name nothing else has."""
        taken = {_unquoted(alias).lower(), *(each.name.lower() for each in source.fields)}
        known = bool(window.function) and window.function not in taken
        return known and self.chance.random() < 0.3

    def _bounds(self, window: Window, *, called: bool = False) -> list[Output]:
        of = (
            MOMENT
            if window.gap or window.stream.startswith(("RANGE", "LANDMARK FROM TIME"))
            else PLACE
        )
        shown = ("window_start", "window_end")
        if called:
            shown = (f"{window.function}.start", f"{window.function}.end")
        bounds = [Output(Both(shown[0], "ws__"), of), Output(Both(shown[1], "we__"), of)]
        return bounds if self.chance.random() < 0.7 else bounds[:1]

    def _values(self, text: Expressions, keep_time: str = "") -> list[Output]:
        found = [Output(same(keep_time), MOMENT)] if keep_time else []
        for _ in range(self.chance.randrange(1, 4)):
            sql, of = text.value()
            found.append(Output(same(sql), of))
        return found

    def _having(self, text: Expressions) -> Both:
        call, of = text.aggregate()
        if of.family not in ORDERED or self.chance.random() < 0.4:
            return Both(f"{call.stream} IS NOT NULL", f"{call.batch} IS NOT NULL")
        test = f" {self.chance.choice(OPERATORS)} {draw_literal(self.chance, of)}"
        return Both(call.stream + test, call.batch + test)

    def _match(self, ours: Sequence[Ref], theirs: Sequence[Ref]) -> str:
        """Draw the condition of a join."""
        pairs = [
            (one, two)
            for one in ours
            for two in theirs
            if one.family == two.family and one.family in ("int", "text", "flag", "date")
        ]
        if not pairs:
            return f"{Expressions(self.chance, ours).flag()}"
        one, two = self.chance.choice(pairs)
        on = f"{one.text} {self.chance.choice(('=', '=', '<=>'))} {two.text}"
        if self.chance.random() < 0.3:
            on += f" AND {Expressions(self.chance, [*ours, *theirs]).flag(1)}"
        return on

    def _table_condition(self, refs: Sequence[Ref]) -> str:
        theirs = self.table.refs(self.chance)
        pairs = [
            (one, two)
            for one in refs
            for two in theirs
            if one.family == two.family and one.family in ("int", "text", "date")
        ]
        if not pairs:
            return Expressions(self.chance, refs).flag()
        one, two = self.chance.choice(pairs)
        negated = self.chance.choice(("", "", "NOT "))
        return f"{one.text} {negated}IN (SELECT {two.text} FROM {self._name(self.table)})"

    def _some(self, refs: Sequence[Ref]) -> list[Ref]:
        return self.chance.sample(list(refs), min(len(refs), self.chance.randrange(1, 3)))

    def _titles(self, outputs: Sequence[Output]) -> list[str]:
        return [written(self.chance, name) for name in draw_names(self.chance, len(outputs))]

    def _made(
        self, name: str, outputs: Sequence[Output], stream: str, batch: str, time: int | None = None
    ) -> Made:
        titles = self._titles(outputs)
        fields = _fields(outputs, titles)
        at = "" if time is None or outputs[time].of.family != "time" else fields[time].name
        query = Query(
            name,
            f"SELECT {_named(outputs, titles, 'stream')} FROM {stream}",
            f"SELECT {_named(outputs, titles, 'batch')} FROM {batch}",
        )
        return Made(query, Source(name, fields, at))


def _fields(outputs: Sequence[Output], titles: Sequence[str]) -> tuple[Field, ...]:
    names = map(_unquoted, titles)
    return tuple(replace(each.of, name=name) for each, name in zip(outputs, names, strict=True))


def _calls(outputs: Sequence[Output], having: Both | None) -> list[Both]:
    return [*(each.both for each in outputs), *([having] if having else [])]


def _by_function(both: Both) -> Both:
    """Return a bound as session_window has it."""
    named = {"ws__": "session_window.start", "we__": "session_window.end"}
    return Both(both.stream, named.get(both.batch, both.batch))


def _unquoted(text: str) -> str:
    """Return the name that is written so."""
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def _named(outputs: Sequence[Output], titles: Sequence[str], side: str) -> str:
    texts = (each.both.stream if side == "stream" else each.both.batch for each in outputs)
    return ", ".join(f"{sql} AS {title}" for sql, title in zip(texts, titles, strict=True))


def _as(alias: str) -> str:
    return f" AS {alias}" if alias else ""


def _where(condition: str | None) -> str:
    return f" WHERE {condition}" if condition else ""


def _numbered(function: str, by: str, inner: str) -> str:
    """Return the rows with their places among those of their window."""
    over = f"OVER (PARTITION BY ws__, we__ ORDER BY {by})"
    return f"SELECT *, {function}() {over} AS rn__ FROM ({inner})"
