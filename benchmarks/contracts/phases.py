"""Phases: so much load for so long, what was answered, when, and how far from the truth."""

import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

import penstock
from benchmarks.contracts.scene import (
    MAX_ERROR,
    MAX_LATENCY,
    QUERIES,
    STREAM,
    TRAIN_SECONDS,
    WINDOW,
    train,
)
from penstock.client import Connection
from penstock.engine.sinks.sink import Delivery

SLOTS = 2
DRAIN_SECONDS = 120.0
WARM_SECONDS, WARM_RATE = 12.0, 500


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a load: by query, the share of answers in time and near enough.

    `utility` is the weighted share of answers that are both; `back_seconds` how long after the
    load's end the last answer came that was late.
    """

    mode: str
    load: float
    rate: int
    p50: float
    p99: float
    late_share: float
    wrong_share: float
    shed_share: float
    utility: float
    back_seconds: float
    done_seconds: float


@dataclass
class Watch:
    """Hears every answer."""

    answers: dict[str, list[tuple[float, pa.Table]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def tap(self, delivery: Delivery) -> None:
        """Keep an answer with the moment it came."""
        with self.lock:
            self.answers.setdefault(delivery.query, []).append((time.time(), delivery.rows))


def measured_capacity(seconds: float) -> int:
    """Return the rows a second that the queries can do together, nothing shed."""
    with _system(may_shed=False) as connection:
        drawn = np.random.default_rng(1)
        _feed(connection, drawn, WARM_RATE, WARM_SECONDS)
        connection.wait(DRAIN_SECONDS)
        supervisor = connection.system.supervisor
        busy, rows = supervisor.statistics.busy_seconds, 0
        pushed = _feed(connection, drawn, 4 * WARM_RATE, seconds)
        _drain(connection)
        rows = sum(each.num_rows for each in pushed)
        return round(rows * SLOTS / (supervisor.statistics.busy_seconds - busy))


def run(mode: str, load: float, capacity: int, seconds: float, *, may_shed: bool) -> Found:
    """Let so much come for so long, wait until all is done, and judge."""
    rate = round(load * capacity)
    with _system(may_shed=may_shed) as connection:
        drawn = np.random.default_rng(2)
        _feed(connection, drawn, WARM_RATE, WARM_SECONDS)
        _drain(connection)
        watch = Watch()
        connection.system.supervisor.taps.append(watch.tap)
        began = time.time()
        pushed = _feed(connection, drawn, rate, seconds)
        over = time.time()
        _feed(connection, drawn, WARM_RATE, 2.0)  # what closes the last windows
        _drain(connection)
        return _judged((mode, load, rate), watch, pa.concat_tables(pushed), (began, over))


def _system(*, may_shed: bool) -> "_Opened":
    return _Opened(may_shed)


class _Opened:
    def __init__(self, may_shed: bool) -> None:
        self._may_shed = may_shed

    def __enter__(self) -> Connection:
        self._home = tempfile.TemporaryDirectory()
        self._connection = penstock.connect(self._home.name, master=f"local[{SLOTS}]")
        self._connection.sql(STREAM)
        for query in QUERIES:
            self._connection.sql(query.sql(may_shed=self._may_shed))
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._home.cleanup()


def _feed(
    connection: Connection, drawn: np.random.Generator, rate: int, seconds: float
) -> list[pa.Table]:
    pushed, began = [], time.monotonic()
    for number in range(round(seconds / TRAIN_SECONDS)):
        time.sleep(max(0.0, began + (number + 1) * TRAIN_SECONDS - time.monotonic()))
        pushed.append(train(max(1, round(rate * TRAIN_SECONDS)), drawn))
        connection.push("readings", pushed[-1])
    return pushed


def _drain(connection: Connection) -> None:
    until = time.monotonic() + DRAIN_SECONDS
    quiet = 0
    while quiet < 10 and time.monotonic() < until:
        plant = connection.system.plant
        still = connection.system.supervisor._crew.is_idle and not plant.buffers.waited_for()
        quiet = quiet + 1 if still else 0
        time.sleep(0.05)


def _truth(pushed: pa.Table) -> dict[tuple[int, int], tuple[float, float]]:
    times = pushed["ts"].cast("int64").to_numpy() // WINDOW
    keys, values = pushed["k"].to_numpy(), pushed["v"].to_numpy()
    codes = times * 1_000 + keys
    found, places = np.unique(codes, return_inverse=True)
    counts = np.bincount(places)
    totals = np.bincount(places, values)
    return {
        (int(code // 1_000), int(code % 1_000)): (float(c), float(t))
        for code, c, t in zip(found, counts, totals, strict=True)
    }


def _answers(
    watch: Watch, query: str, first: int, last: int
) -> Iterator[tuple[float, int, int, float, float, float]]:
    """Yield when an answer came, its window, key, count, total and the share that was shed."""
    for at, rows in watch.answers.get(query, ()):
        windows = rows["window_start"].cast("int64").to_numpy() // WINDOW
        shed = rows["_shed"].to_numpy() if "_shed" in rows.schema.names else np.zeros(len(windows))
        columns = (rows["k"].to_numpy(), rows["c"].to_numpy(), rows["total"].to_numpy(), shed)
        for window, key, count, total, gone in zip(windows, *columns, strict=True):
            if first < window < last:  # whole ones
                yield at, int(window), int(key), float(count), float(total), float(gone)


def _judged(
    phase: tuple[str, float, int], watch: Watch, pushed: pa.Table, span: tuple[float, float]
) -> Found:
    truth, (began, over) = _truth(pushed), span
    first, last = int(began * 1e6) // WINDOW, int(over * 1e6) // WINDOW
    due = [each for each in truth if first < each[0] < last]
    latencies: list[float] = []
    wrong = answers = 0
    shed: list[float] = []
    worth = total_weight = 0.0
    back = 0.0
    for query in QUERIES:
        good = 0
        for at, window, key, count, total, gone in _answers(watch, query.name, first, last):
            true_count, true_total = truth[window, key]
            latency = at - (window + 1) * WINDOW / 1e6
            error = max(abs(count - true_count) / true_count, abs(total - true_total) / true_total)
            allowed = MAX_ERROR if query.rough else 1e-9
            latencies.append(latency)
            answers += 1
            wrong += error > allowed
            good += error <= allowed and latency <= MAX_LATENCY
            shed.append(gone)
            if latency > MAX_LATENCY:
                back = max(back, at - over)
        worth += query.weight * good / max(1, len(due))
        total_weight += query.weight
    late = np.array(latencies)
    return Found(
        *phase,
        float(np.quantile(late, 0.5)),
        float(np.quantile(late, 0.99)),
        float((late > MAX_LATENCY).mean()),
        wrong / max(1, answers),
        float(np.mean(shed)),
        worth / total_weight,
        back,
        time.time() - over,
    )


def table(found: Sequence[Found]) -> str:
    """Return the phases as Markdown."""
    head = (
        "| mode | load | rows/s | p50 s | p99 s | late | wrong | shed | utility | done after s |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    )
    return head + "\n".join(
        f"| {f.mode} | {f.load:g} | {f.rate:,} | {f.p50:.2f} | {f.p99:.2f} | {f.late_share:.1%} | "
        f"{f.wrong_share:.1%} | {f.shed_share:.1%} | {f.utility:.3f} | {f.done_seconds:.1f} |"
        for f in found
    )
