"""Judging: what was answered, when, and how far from the truth."""

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from benchmarks.contracts.scene import MAX_ERROR, MAX_LATENCY, QUERIES, WINDOW

Truth = dict[tuple[int, int], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Phase:
    """So much load, of such traffic, for a system."""

    mode: str
    traffic: str
    load: float
    rate: int


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a phase. What was never answered is late.

    `utility` is the weighted share of the answers due that were in time and near enough;
    `back_seconds` how long after the load's end the last answer came that was late.
    """

    phase: Phase
    p50: float
    p99: float
    late_share: float
    wrong_share: float
    shed_share: float
    utility: float
    back_seconds: float


@dataclass
class Watch:
    """Hears every answer; `scale` is what a count is to be multiplied by."""

    scale: float = 1.0
    answers: dict[str, list[tuple[float, pa.Table]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def hear(self, query: str, rows: pa.Table) -> None:
        """Keep an answer with the moment it came."""
        with self.lock:
            self.answers.setdefault(query, []).append((time.time(), rows))

    def of(
        self, query: str, first: int, last: int
    ) -> Iterator[tuple[float, int, int, float, float, float]]:
        """Yield when answers came, their windows, keys, counts, totals and shares shed."""
        for at, rows in self.answers.get(query, ()):
            windows = rows["window_start"].cast("int64").to_numpy() // WINDOW
            none = np.zeros(len(windows))
            shed = rows["_shed"].to_numpy() if "_shed" in rows.schema.names else none
            columns = (rows["k"], rows["c"], rows["total"], shed)
            numbers = (np.asarray(each) for each in columns)
            for window, key, count, total, gone in zip(windows, *numbers, strict=True):
                if first < window < last:  # whole ones
                    scaled = (float(count) * self.scale, float(total) * self.scale)
                    yield at, int(window), int(key), *scaled, float(gone)


def truth_of(pushed: pa.Table) -> Truth:
    """Return count and total by window and key."""
    codes = pushed["ts"].cast("int64").to_numpy() // WINDOW * 1_000 + pushed["k"].to_numpy()
    found, places = np.unique(codes, return_inverse=True)
    counts, totals = np.bincount(places), np.bincount(places, pushed["v"].to_numpy())
    return {
        (int(code // 1_000), int(code % 1_000)): (float(c), float(t))
        for code, c, t in zip(found, counts, totals, strict=True)
    }


def judged(phase: Phase, watch: Watch, pushed: pa.Table, span: tuple[float, float]) -> Found:
    """Return what became of the load that came from the first to the second moment."""
    truth, (began, over) = truth_of(pushed), span
    first, last = int(began * 1e6) // WINDOW, int(over * 1e6) // WINDOW
    due = [each for each in truth if first < each[0] < last]
    latencies, sheds = list[float](), list[float]()
    wrong = answers = 0
    worth = back = 0.0
    for query in QUERIES:
        good, open_ = 0, set(due)
        for at, window, key, count, total, gone in watch.of(query.name, first, last):
            true_count, true_total = truth[window, key]
            latency = at - (window + 1) * WINDOW / 1e6
            error = max(abs(count - true_count) / true_count, abs(total - true_total) / true_total)
            is_near = error <= (MAX_ERROR if query.rough else 1e-9)
            latencies.append(latency)
            sheds.append(gone)
            answers += 1
            wrong += not is_near
            good += is_near and latency <= MAX_LATENCY
            open_.discard((window, key))
            if latency > MAX_LATENCY:
                back = max(back, at - over)
        now = time.time()
        latencies += [now - (window + 1) * WINDOW / 1e6 for window, _ in open_]
        worth += query.weight * good / max(1, len(due))
    late = np.array(latencies)
    return Found(
        phase,
        float(np.quantile(late, 0.5)),
        float(np.quantile(late, 0.99)),
        float((late > MAX_LATENCY).mean()),
        wrong / max(1, answers),
        float(np.mean(sheds or [0.0])),
        worth / sum(query.weight for query in QUERIES),
        back,
    )


def table(found: Sequence[Found]) -> str:
    """Return the phases as Markdown."""
    head = (
        "| traffic | load | rows/s | mode | p50 s | p99 s | late | wrong | shed | utility |\n"
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    )
    return head + "\n".join(
        f"| {f.phase.traffic} | {f.phase.load:g} | {f.phase.rate:,} | {f.phase.mode} | {f.p50:.2f} "
        f"| {f.p99:.2f} | {f.late_share:.1%} | {f.wrong_share:.1%} | {f.shed_share:.1%} "
        f"| {f.utility:.3f} |"
        for f in found
    )
