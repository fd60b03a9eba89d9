"""What happened, told at the end of the demo."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.cli.live_line import count, counted, span
from penstock.engine.sinks.table_text import table_text
from penstock.scene.demo_scene import SCRIPTS, DemoScene

FIGURES = ["query", "state", "rows_in", "rows_out", "p50_ms", "delay_p50_ms", "late_rows"]
CONTRACT_FIGURES = ["query", "max_error", "error_p95", "wrong_share", "shed_rows", "kept"]
RULE_FIGURES = ["rule", "event", "state", "fired", "done", "held_back", "failures", "dead"]
DELAY_BAR_SECONDS = 0.5  # what the delay of half of the rows has to be below on an idle machine
CALM = 1.5  # times the most lag and queue before the rush: up to that, nothing is left of it

SLACK_SECONDS = 1.0  # of the streams: the lag that the rush makes is seen that much later


@dataclass(frozen=True, slots=True)
class StoryMoment:
    """The figures of one moment, `at` seconds after the streams began; `rows` have come in all.

    `keep` is the least share that a gate keeps.
    """

    at: float
    rows: int
    queued: int
    lag: float
    keep: float = 1.0


@dataclass(frozen=True, slots=True)
class StoryStretch:
    """Some of the moments in four numbers."""

    rows_per_second: float
    most_queued: int
    most_lag: float
    least_keep: float


@dataclass(frozen=True, slots=True)
class CalmDelay:
    """How long half of a query's rows took at most, until the rush began; in seconds.

    None where it had delivered nothing.
    """

    query: str
    rows: int
    delay: float | None
    latency: float | None


@dataclass(frozen=True, slots=True)
class ClosingFigures:
    """What SHOW QUERIES, SHOW RULES and SHOW QOS say at the end, and the delays before the rush."""

    queries: pa.Table
    rules: pa.Table
    contracts: pa.Table
    delays: Sequence[CalmDelay] = ()


def summary(
    figures: ClosingFigures, moments: Sequence[StoryMoment], scene: DemoScene, home: str | None
) -> str:
    """Return the whole story: the figures, the rush, the rule, and where to go from here."""
    parts = [
        "What the queries did in the last minute, in milliseconds at p50: latency is from arrival",
        "to delivery, delay from when an answer could be given (a window's: when it closed).",
        table_text(figures.queries.select(FIGURES)),
        *delays_told(figures.delays),
        *rush_told(moments, scene),
        "The contract: fuel is dear to work out and may be a fifth off. Where cars came faster",
        "than that can be done, a gate kept a part of them for it; other queries had every car.",
        table_text(figures.contracts.select(CONTRACT_FIGURES)),
        "The rule: a road that is jammed in two windows, one after the other, is an event; each",
        "time, a call for the police goes into a stream, which the query called reads.",
        table_text(figures.rules.select(RULE_FIGURES)),
        onward(home),
    ]
    return "\n".join(parts)


def delays_told(delays: Sequence[CalmDelay]) -> list[str]:
    """Return the delays before the rush beside the bar, or nothing where there are none."""
    if not delays:
        return []
    told = [each.delay for each in delays if each.delay is not None]
    within = sum(delay < DELAY_BAR_SECONDS for delay in told)
    table = pa.table(
        {
            "query": [each.query for each in delays],
            "rows": [each.rows for each in delays],
            "latency p50": [_span_or_dash(each.latency) for each in delays],
            "delay p50": [_span_or_dash(each.delay) for each in delays],
            f"below {span(DELAY_BAR_SECONDS)}": [_is_within(each.delay) for each in delays],
        }
    )
    return [
        f"Before the rush, since the start: the delay of half of the rows was below "
        f"{span(DELAY_BAR_SECONDS)} for {within} of {counted(len(told), 'query', 'queries')}.",
        table_text(table),
    ]


def _span_or_dash(seconds: float | None) -> str:
    return "no rows" if seconds is None else span(seconds)


def _is_within(delay: float | None) -> str:
    return "" if delay is None else "yes" if delay < DELAY_BAR_SECONDS else "no"


def rush_told(moments: Sequence[StoryMoment], scene: DemoScene) -> list[str]:
    """Return what the rush did, or nothing where the demo ended before it was over."""
    before, during, after = _parts(moments, scene)
    if not (before and during and after):
        return []
    times = {"before": before, "in the rush": during, "after": after}
    stretches = [stretch(each) for each in times.values()]
    table = pa.table(
        {
            "time": list(times),
            "rows in a second": [count(each.rows_per_second) for each in stretches],
            "most rows queued": [count(each.most_queued) for each in stretches],
            "most lag": [span(each.most_lag) for each in stretches],
            "least kept for fuel": [f"{each.least_keep:.0%}" for each in stretches],
        }
    )
    return [
        f"The rush: {scene.rush_rate:,} cars a second instead of {scene.cars_rate} "
        f"for {scene.rush_length:g} s. Rows waited; none was dropped but for fuel.",
        table_text(table),
        caught_up([*during, *after], stretches[0], scene.rush[1]),
    ]


def stretch(moments: Sequence[StoryMoment]) -> StoryStretch:
    """Return the mean rate and the worst of the rest."""
    first, last = moments[0], moments[-1]
    seconds = max(last.at - first.at, 0.1)
    return StoryStretch(
        (last.rows - first.rows) / seconds,
        max(each.queued for each in moments),
        max(each.lag for each in moments),
        min(each.keep for each in moments),
    )


def caught_up(since: Sequence[StoryMoment], calm: StoryStretch, end: float) -> str:
    """Say how long after the rush everything was as calm as before it, for good."""
    restless = [each.at for each in since if _is_restless(each, calm)]
    if restless and restless[-1] == since[-1].at:
        return "It was still being worked off at the end.\n"
    if not restless or restless[-1] <= end:
        return "It was worked off as it came.\n"
    return f"All of it was worked off {span(restless[-1] - end)} after the rush had passed.\n"


def is_calm(moments: Sequence[StoryMoment], scene: DemoScene) -> bool:
    """Say whether nothing is left of the rush at the last of these moments."""
    before, _, after = _parts(moments, scene)
    return bool(before and after) and not _is_restless(after[-1], stretch(before))


def _is_restless(moment: StoryMoment, calm: StoryStretch) -> bool:
    return moment.lag > calm.most_lag * CALM or moment.queued > calm.most_queued * CALM


def _parts(moments: Sequence[StoryMoment], scene: DemoScene) -> tuple[list[StoryMoment], ...]:
    """Return the moments before the rush, in it, and after it."""
    begin, end = scene.rush
    end += SLACK_SECONDS
    return (
        [each for each in moments if each.at < begin],
        [each for each in moments if begin <= each.at <= end],
        [each for each in moments if each.at > end],
    )


def onward(home: str | None) -> str:
    """Say what to read and to try next."""
    lines = [f"  {path}" for path in SCRIPTS]
    kept = f"  penstock sql --home {home}       ask this home more\n" if home else ""
    return "\n".join(
        [
            "The SQL of this scene:",
            *lines,
            "Try:",
            f"{kept}  penstock sql                  a shell; .help helps",
            "  penstock run SCRIPT.sql       your own streams and queries",
            "  penstock explain SCRIPT.sql   how they would share their work",
        ]
    )
