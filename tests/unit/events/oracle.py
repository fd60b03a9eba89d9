"""Events by their definitions: whole histories, every candidate looked at, no state, no batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.model.event_forms import is_instant
from penstock.model.events import (
    CONSUMING,
    And,
    AnyOf,
    Aperiodic,
    Event,
    Mode,
    Not,
    Or,
    Periodic,
    Plus,
    Primitive,
    Seq,
    Watch,
    primitives,
)

NEWEST = {Mode.RECENT, Mode.RECENT_UNIQUE}
Labelled = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Occurrence:
    start: int
    end: int
    seq: int
    of: tuple[tuple[str, tuple[int, ...]], ...]  # by label: numbers of rows, or times of ticks


@dataclass(frozen=True)
class Row:
    primitive: str
    start: int
    end: int
    seq: int
    key: int | None
    number: int


@dataclass(frozen=True)
class Definitions:
    """The definitions for one watch and the rows of one key."""

    watch: Watch
    rows: tuple[Row, ...]
    latest: int

    @property
    def mode(self) -> Mode:
        return self.watch.mode

    def since(self, one: Occurrence) -> int:
        return one.end if self.watch.point else one.start

    def precedes(self, one: Occurrence, other: Occurrence) -> bool:
        return one.end < self.since(other)

    def of(self, event: Event, outer: int | None = None) -> list[Occurrence]:
        """Return all occurrences of an event, in order."""
        if isinstance(event, Primitive):
            mine = [row for row in self.rows if row.primitive == event.name]
            found = [Occurrence(r.start, r.end, r.seq, ((event.label, (r.number,)),)) for r in mine]
            return in_order(found)
        spans = [each for each in (event.within, outer) if each is not None]
        within = min(spans) if spans else None

        def part(one: Event) -> list[Occurrence]:
            return [each for each in self.of(one, within) if fits(each.start, each.end, within)]

        match event:
            case Or():
                return in_order([each for one in event.parts for each in part(one)])
            case Seq():
                found, made = part(event.parts[0]), event.parts[0]
                for one in event.parts[1:]:
                    once = self.watch.point or is_instant(one)
                    found = self.following(found, None, part(one), within, once)
                    made = Seq((made, one))
                return found
            case Not():
                once = self.watch.point or is_instant(event.last)
                first, middle, last = part(event.first), part(event.middle), part(event.last)
                return self.following(first, middle, last, within, once)
            case And():
                parts_ = [part(one) for one in event.parts]
                return self.together(len(event.parts), parts_, within)
            case AnyOf(count=1):
                return in_order([each for one in event.parts for each in part(one)])
            case AnyOf():
                parts_ = [part(one) for one in event.parts]
                return self.together(event.count, parts_, within)
            case Aperiodic():
                once = self.watch.point or (is_instant(event.middle) and is_instant(event.last))
                first, middle, last = part(event.first), part(event.middle), part(event.last)
                if event.all_at_last:
                    return self.all_at_last(first, last, within, once, middle)
                return self.one_by_one(first, middle, last, within, once)
            case Periodic():
                once = self.watch.point or is_instant(event.last)
                first, last = part(event.first), part(event.last)
                if event.all_at_last:
                    return self.all_at_last(first, last, within, once, None, event)
                return self.ticks(first, last, within, once, event)
            case Plus():
                return self.plus(self.of(event.event, within), event.after, within)

    def following(
        self,
        firsts: list[Occurrence],
        middles: list[Occurrence] | None,
        lasts: list[Occurrence],
        within: int | None,
        once: bool,
    ) -> list[Occurrence]:
        found: list[Occurrence] = []
        gone: set[int] = set()
        used: set[int] = set()

        def is_candidate(place: int, last: Occurrence) -> bool:
            first = firsts[place]
            return (
                self.precedes(first, last)
                and fits(min(first.start, last.start), last.end, within)
                and not any(
                    self.precedes(first, each) and self.precedes(each, last)
                    for each in middles or ()
                )
            )

        for last in lasts:
            held = [i for i, each in enumerate(firsts) if each.end < last.end and i not in gone]
            if self.watch.cap is not None and not (once and self.mode in NEWEST):
                gone |= set(held[: -self.watch.cap])
                held = held[-self.watch.cap :]
            groups = self.chosen([i for i in held if is_candidate(i, last)], used)
            found += [joined([*(firsts[i] for i in group), last], last) for group in groups]
            if not groups or self.mode not in CONSUMING:
                continue
            as_firsts = {i for i, first in enumerate(firsts) if row_of(first) == row_of(last)}
            if self.mode is Mode.RECENT_UNIQUE:
                used |= as_firsts
            else:
                gone |= as_firsts | {i for group in groups for i in group}
        return found

    def chosen(self, candidates: list[int], used: set[int]) -> list[list[int]]:
        """Return the groups of firsts that one last completes."""
        match self.mode:
            case Mode.UNRESTRICTED | Mode.CONTINUOUS:
                return [[i] for i in candidates]
            case Mode.RECENT:
                return [candidates[-1:]] if candidates else []
            case Mode.RECENT_UNIQUE:
                if not candidates or candidates[-1] in used:
                    return []
                used.add(candidates[-1])
                return [candidates[-1:]]
            case Mode.CHRONICLE:
                return [candidates[:1]] if candidates else []
            case Mode.CUMULATIVE:
                return [candidates] if candidates else []

    def together(
        self, count: int, parts: list[list[Occurrence]], within: int | None
    ) -> list[Occurrence]:
        arrivals = sorted(
            (
                (each, part, place)
                for part, some in enumerate(parts)
                for place, each in enumerate(some)
            ),
            key=lambda one: (one[0].end, one[0].seq, one[1], one[2]),
        )
        found: list[Occurrence] = []
        gone: set[int] = set()
        used: set[int] = set()

        def everywhere(places: set[int]) -> set[int]:
            rows = {row_of(arrivals[i][0]) for i in places}
            return {i for i, (one, _, _) in enumerate(arrivals) if row_of(one) in rows}

        for at, (each, part, _) in enumerate(arrivals):
            if at in gone:
                continue
            before = [i for i in range(at) if i not in gone]
            if self.watch.cap is not None and self.mode not in NEWEST:
                for one in range(len(parts)):
                    mine = [i for i in before if arrivals[i][1] == one]
                    gone |= set(mine[: -self.watch.cap])
                before = [i for i in before if i not in gone]
            before = [i for i in before if fits(arrivals[i][0].start, each.end, within)]
            of_part = {
                one: [i for i in before if arrivals[i][1] == one] for one in range(len(parts))
            }
            others = {one: rows for one, rows in of_part.items() if rows and one != part}
            groups = self.met(arrivals, at, before, others, count, used)
            if self.mode in {Mode.CHRONICLE, Mode.CUMULATIVE} and groups:
                gone |= everywhere({at, *groups[0]})
            if self.mode is Mode.CONTINUOUS and groups:
                gone |= everywhere({at, *(group[0] for group in groups)})
            if self.mode is Mode.RECENT_UNIQUE and groups:
                used |= everywhere({at, *groups[0]})
            found += [joined([*(arrivals[i][0] for i in group), each], each) for group in groups]
        return found

    def met(
        self,
        arrivals: list[tuple[Occurrence, int, int]],
        at: int,
        before: list[int],
        others: dict[int, list[int]],
        count: int,
        used: set[int],
    ) -> list[list[int]]:
        """Return the groups of held occurrences that the one at this place completes."""
        if len(others) < count - 1:
            return []
        match self.mode:
            case Mode.UNRESTRICTED:
                return sorted(combinations_of(list(others.values()), count - 1))
            case Mode.RECENT | Mode.RECENT_UNIQUE:
                newest = sorted(rows[-1] for rows in others.values())
                newest = [i for i in newest if i not in used]
                if len(newest) < count - 1 or at in used:
                    return []
                return [newest[len(newest) - count + 1 :]]
            case Mode.CHRONICLE:
                return [sorted(rows[0] for rows in others.values())[: count - 1]]
            case Mode.CUMULATIVE:
                return [before]
            case Mode.CONTINUOUS:
                groups = []
                for i in sorted(i for rows in others.values() for i in rows):
                    firsts: dict[int, int] = {}
                    for j in before:
                        if j >= i and arrivals[j][1] != arrivals[at][1]:
                            firsts.setdefault(arrivals[j][1], j)
                    if len(firsts) >= count - 1:
                        groups.append(sorted(firsts.values())[: count - 1])
                return groups

    def closings(
        self,
        firsts: list[Occurrence],
        lasts: list[Occurrence],
        within: int | None,
        once: bool,
        detect: Callable[[Occurrence, list[int]], set[tuple[int, int]]] | None = None,
    ) -> dict[int, Occurrence]:
        """Return who closes each window.

        `detect` is asked for each last, with the windows that fit, oldest first; it returns the
        rows that are used up.
        """
        closed: dict[int, Occurrence] = {}
        spent: set[tuple[int, int]] = set()
        capping = self.watch.cap is not None and not (once and self.mode in NEWEST)
        timeline = sorted(
            [(each.end, 0, at) for at, each in enumerate(lasts)]
            + [(each.end, 1, at) for at, each in enumerate(firsts)]
        )
        opened: list[int] = []
        for _, kind, at in timeline:
            if kind == 1:
                if row_of(firsts[at]) in spent:
                    continue
                opened.append(at)
                if capping and len(opened) > (self.watch.cap or 0):
                    closed[opened.pop(0)] = firsts[at]
                continue
            last = lasts[at]
            closing = [i for i in opened if self.precedes(firsts[i], last)]
            fitting = [i for i in closing if fits(firsts[i].start, last.end, within)]
            if self.mode is Mode.CHRONICLE:
                closing = [i for i in closing if i not in fitting] + fitting[:1]
                fitting = fitting[:1]
            opened = [i for i in opened if i not in closing]
            closed |= dict.fromkeys(closing, last)
            if detect is not None:
                spent |= detect(last, fitting)
                opened = [i for i in opened if row_of(firsts[i]) not in spent]
        return closed

    def one_by_one(
        self,
        firsts: list[Occurrence],
        middles: list[Occurrence],
        lasts: list[Occurrence],
        within: int | None,
        once: bool,
    ) -> list[Occurrence]:
        closed = self.closings(firsts, lasts, within, once)
        found: list[Occurrence] = []
        used: set[int] = set()
        for middle in middles:
            candidates = [
                i
                for i, first in enumerate(firsts)
                if self.precedes(first, middle)
                and (i not in closed or is_open(closed[i], middle.end, lasts))
                and fits(first.start, middle.end, within)
            ]
            for group in self.chosen(candidates, used):
                whole = joined([*(firsts[i] for i in group), middle], middle)
                found.append(replace(whole, start=middle.start))
        return found

    def all_at_last(
        self,
        firsts: list[Occurrence],
        lasts: list[Occurrence],
        within: int | None,
        once: bool,
        middles: list[Occurrence] | None,
        event: Periodic | None = None,
    ) -> list[Occurrence]:
        found: list[Occurrence] = []
        consumed: set[tuple[int, int]] = set()

        def detect(last: Occurrence, fitting: list[int]) -> set[tuple[int, int]]:
            taken: set[tuple[int, int]] = set()
            for group in self.chosen(fitting, set()):
                if event is not None:
                    begin = firsts[group[0]].end + event.every
                    ticks = tuple(range(begin, self.since(last), event.every))
                    inside = [Occurrence(t, t, 0, ((event.label, (t,)),)) for t in ticks]
                else:
                    places = [
                        i
                        for i, middle in enumerate(middles or [])
                        if row_of(middle) not in consumed
                        and any(self.precedes(firsts[j], middle) for j in group)
                        and self.precedes(middle, last)
                    ]
                    inside = [(middles or [])[i] for i in places]
                if inside:
                    whole = joined([*(firsts[i] for i in group), *inside, last], last)
                    start = min([last.start, *(firsts[i].start for i in group)])
                    found.append(replace(whole, start=start))
                    opening = [firsts[i] for i in group]
                    taken |= {row_of(each) for each in (*opening, *inside, last)}
            if self.mode in CONSUMING:
                consumed.update(taken)
                return taken
            return set()

        self.closings(firsts, lasts, within, once, detect)
        return found

    def ticks(
        self,
        firsts: list[Occurrence],
        lasts: list[Occurrence],
        within: int | None,
        once: bool,
        event: Periodic,
    ) -> list[Occurrence]:
        closed = self.closings(firsts, lasts, within, once)
        found: list[tuple[int, int, Occurrence]] = []
        used: set[int] = set()
        times = sorted(
            (tick, i)
            for i, first in enumerate(firsts)
            for tick in range(first.end + event.every, self.latest + 1, event.every)
        )
        for tick, i in times:
            ticking = [
                j
                for j, first in enumerate(firsts)
                if first.end < tick
                and (j not in closed or is_open(closed[j], tick, lasts))
                and fits(first.start, tick, within)
            ]
            if i not in ticking:
                continue
            group = [i]
            match self.mode:
                case Mode.RECENT | Mode.RECENT_UNIQUE:
                    if ticking[-1] != i or i in used:
                        continue
                case Mode.CHRONICLE:
                    if ticking[0] != i:
                        continue
                case Mode.CUMULATIVE:
                    if ticking[0] != i:
                        continue
                    group = ticking
                case Mode.CONTINUOUS | Mode.UNRESTRICTED:
                    pass
            if self.mode is Mode.RECENT_UNIQUE:
                used.add(i)
            tick_of = Occurrence(tick, tick, firsts[i].seq, ((event.label, (tick,)),))
            whole = joined([*(firsts[j] for j in group), tick_of], tick_of)
            found.append((tick, i, replace(whole, start=tick)))
        return in_order([each for _, _, each in sorted(found, key=lambda one: one[:2])])

    def plus(self, firsts: list[Occurrence], after: int, within: int | None) -> list[Occurrence]:
        firsts = [each for each in firsts if fits(each.start, each.end + after, within)]
        groups: list[list[Occurrence]] = []
        for at, each in enumerate(firsts):
            if self.mode in NEWEST and any(
                later.end < each.end + after for later in firsts[at + 1 :]
            ):
                continue
            if self.mode is Mode.CUMULATIVE and groups and each.end < groups[-1][0].end + after:
                groups[-1].append(each)
            else:
                groups.append([each])
        found = []
        for group in groups:
            tick = group[0].end + after
            found.append(replace(joined(group, group[0]), start=tick, end=tick))
        return in_order(found)


def is_open(closer: Occurrence, at: int, lasts: list[Occurrence]) -> bool:
    """Say whether a window is open at a time: a last closes it at its end, a newer first after."""
    return at < closer.end if closer in lasts else at <= closer.end


def fits(start: int, end: int, within: int | None) -> bool:
    return within is None or end - start <= within


def in_order(some: Sequence[Occurrence]) -> list[Occurrence]:
    return sorted(some, key=lambda each: (each.end, each.seq))


def row_of(one: Occurrence) -> tuple[int, int]:
    """Return what says which row an occurrence ends with."""
    return one.end, one.seq


def joined(members: Sequence[Occurrence], last: Occurrence) -> Occurrence:
    of: Labelled = {}
    for each in members:
        for label, numbers in each.of:
            of[label] = of.get(label, ()) + numbers
    start = min(each.start for each in members)
    return Occurrence(start, last.end, last.seq, tuple(sorted(of.items())))


def combinations_of(groups: list[list[int]], count: int) -> list[list[int]]:
    if count == 0:
        return [[]]
    if not groups:
        return []
    with_first = [
        sorted([i, *rest]) for i in groups[0] for rest in combinations_of(groups[1:], count - 1)
    ]
    return with_first + combinations_of(groups[1:], count)


Detection = tuple[int, int, dict[str, list[int]]]


def detections(watch: Watch, rows: Sequence[Row]) -> list[Detection]:
    """Return what the definitions say, over all keys; NULL agrees with no key."""
    leaves = primitives(watch.event)
    rows = [row for row in rows if row.primitive in {leaf.name for leaf in leaves}]
    latest = max((row.end for row in rows), default=0)
    keyed = any(leaf.key for leaf in leaves)
    keys = sorted({row.key for row in rows if row.key is not None}) if keyed else [None]
    found: list[tuple[int, int, int, int, Occurrence]] = []
    for place, key in enumerate(keys):
        mine = tuple(row for row in rows if row.key == key) if keyed else tuple(rows)
        some = Definitions(watch, mine, latest).of(watch.event)
        found += [(each.end, each.seq, place, at, each) for at, each in enumerate(some)]
    return [
        (each.start, each.end, {label: list(of) for label, of in each.of})
        for *_, each in sorted(found, key=lambda one: one[:4])
    ]
