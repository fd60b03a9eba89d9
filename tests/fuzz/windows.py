"""Windows in two languages: brackets, and a subquery that puts each row into its windows.

The subquery shows all columns of its source, and the bounds as `ws__` and `we__`.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from tests.fuzz.columns import BEGIN, EPOCH

ARRIVAL = "arrival__"  # in the batch's view of a stream: its rows' places
SECOND = 1_000_000
SPANS = ((10, 10), (60, 60), (30, 10), (20, 5), (15, 10), (7, 3), (3, 3), (3600, 3600))


@dataclass(frozen=True)
class Window:
    """Text in brackets, and the batch's FROM; a session is grouped by in its own way.

    What Spark has a function for may also be written with it, `function` over `lengths`.
    """

    stream: str
    batch: str
    gap: int = 0
    keys: tuple[str, ...] = ()
    function: str = ""
    lengths: tuple[int, ...] = ()

    def call(self, time: str) -> str:
        """Return Spark's function over the event time."""
        lengths = "".join(f", '{each} seconds'" for each in self.lengths)
        return f"{self.function}({time}{lengths})"


@dataclass(frozen=True)
class Read:
    """What a window stands over: the names as texts, and the batch's relation."""

    stream: str
    time: str
    batch: str
    numbered: str = ""  # the batch's relation with ARRIVAL, where there is an order of tuples


def draw_span(chance: random.Random, read: Read) -> Window:
    """Draw RANGE d or RANGE d SLIDE d."""
    size, slide = chance.choice(SPANS)
    return span(read, size, slide)


def span(read: Read, size: int, slide: int) -> Window:
    """Return RANGE size SLIDE slide, in seconds."""
    text = f"RANGE {size} SECONDS" + (f" SLIDE {slide} SECONDS" if slide != size else "")
    window = Window(text, "", function="window", lengths=(size, slide))
    inner = f"SELECT *, {window.call(read.time)} AS ww__ FROM {read.batch}"
    batch = f"(SELECT *, ww__.start AS ws__, ww__.end AS we__ FROM ({inner}))"
    return replace(window, batch=batch)


def draw_landmark(chance: random.Random, read: Read) -> Window:
    """Draw LANDMARK FROM a time EVERY d."""
    every = chance.choice((5, 20, 60))
    at = BEGIN + timedelta(seconds=chance.choice((-100, 0, 3, 30)))
    start = (at - EPOCH) // timedelta(microseconds=1)
    micros = f"unix_micros({read.time})"
    last = f"CROSS JOIN (SELECT max({micros}) AS mm__ FROM {read.batch})"
    length = every * SECOND
    places = f"sequence(({micros} - {start}) div {length}, (mm__ - {start}) div {length})"
    inner = (
        f"SELECT *, explode({places}) AS nn__ FROM {read.batch} {last} WHERE {micros} >= {start}"
    )
    batch = (
        f"(SELECT *, timestamp_micros({start}) AS ws__, "
        f"timestamp_micros({start} + (nn__ + 1) * {length}) AS we__ FROM ({inner}))"
    )
    return Window(f"LANDMARK FROM TIMESTAMP '{at:%Y-%m-%d %H:%M:%S}' EVERY {every} SECONDS", batch)


def draw_rows(chance: random.Random, read: Read, keys: tuple[str, ...] = ()) -> Window:
    """Draw [PARTITION BY k] ROWS n [SLIDE m]."""
    size, slide = chance.choice(((5, 5), (3, 1), (10, 4), (1, 1), (20, 20)))
    slid = f" SLIDE {slide}" if slide != size or chance.random() < 0.2 else ""
    apart = f"PARTITION BY {', '.join(keys)} " if keys else ""
    numbered = (
        f"SELECT *, row_number() OVER ({apart}ORDER BY {read.time}, {ARRIVAL}) AS rn__ "
        f"FROM {read.numbered}"
    )
    first = f"greatest(0, CAST(ceil((rn__ - {size}) / {slide}) AS BIGINT))"
    inner = (
        f"SELECT *, explode(sequence({first}, (rn__ - 1) div {slide})) AS nn__ FROM ({numbered})"
    )
    batch = (
        f"(SELECT *, CAST(1 + nn__ * {slide} AS BIGINT) AS ws__, "
        f"CAST(nn__ * {slide} + {size} AS BIGINT) AS we__ FROM ({inner}))"
    )
    return Window(f"{apart}ROWS {size}{slid}", batch, keys=keys)


def draw_numbers(chance: random.Random, read: Read) -> Window:
    """Draw LANDMARK FROM a tuple number EVERY n."""
    start, every = chance.choice((1, 1, 4)), chance.choice((1, 5, 20))
    numbered = (
        f"SELECT *, row_number() OVER (ORDER BY {read.time}, {ARRIVAL}) AS rn__, "
        f"count(*) OVER () AS mm__ FROM {read.numbered}"
    )
    places = f"sequence((rn__ - {start}) div {every}, (mm__ - {start}) div {every})"
    inner = f"SELECT *, explode({places}) AS nn__ FROM ({numbered}) WHERE rn__ >= {start}"
    batch = (
        f"(SELECT *, CAST({start} AS BIGINT) AS ws__, "
        f"CAST({start} + (nn__ + 1) * {every} - 1 AS BIGINT) AS we__ FROM ({inner}))"
    )
    return Window(f"LANDMARK FROM {start} EVERY {every}", batch)


def told_apart(read: str, time: str, keys: Sequence[str], gap: int) -> str:
    """Return the batch's FROM with the bounds of sessions of each group, in plain SQL.

    Where a DISTINCT aggregate has a FILTER or is not the only one, Spark's session_window counts
    a value again for each part of a session that it merges, so it is no oracle for those.
    """
    by = ", ".join(f"gg{place}__" for place, _ in enumerate(keys))
    named = "".join(f", {key} AS gg{place}__" for place, key in enumerate(keys))
    apart = f"PARTITION BY {by} " if keys else ""
    within = ", ".join(filter(None, (by, "nn__")))
    timed = f"SELECT *, unix_micros({time}) AS uu__{named} FROM {read}"
    before = f"uu__ - lag(uu__) OVER ({apart}ORDER BY uu__) <= {gap * SECOND}"
    begun = f"SELECT *, CASE WHEN {before} THEN 0 ELSE 1 END AS bb__ FROM ({timed})"
    placed = f"SELECT *, sum(bb__) OVER ({apart}ORDER BY uu__) AS nn__ FROM ({begun})"
    return (
        f"(SELECT *, timestamp_micros(min(uu__) OVER (PARTITION BY {within})) AS ws__, "
        f"timestamp_micros(max(uu__) OVER (PARTITION BY {within}) + {gap * SECOND}) AS we__ "
        f"FROM ({placed}))"
    )


def draw_session(chance: random.Random, read: Read) -> Window:
    """Draw SESSION GAP d."""
    gap = chance.choice((1, 3, 10))
    text, function = f"SESSION GAP {gap} SECONDS", "session_window"
    return Window(text, read.batch, gap=gap, function=function, lengths=(gap,))
