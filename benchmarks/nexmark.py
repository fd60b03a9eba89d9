"""Five of Nexmark's queries over files: Penstock against Structured Streaming, one at a time.

Penstock runs the text in examples/nexmark, its days made `LONG` so that the state stays bounded.
Structured Streaming runs what says the same in append mode: bounds of time instead of windows in
joins, and for q5 (it has no rank) a list of every window's auctions. Each batch is one file of
each stream that the query reads.

From the end of one batch to the end of everything: the last batch closes every window, so the
rows that come late in a run are paid for by both sides. Rows are those of the streams read.
"""

import itertools
import re
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import uuid4

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import penstock
from benchmarks.contest import better_store, is_beaten, rate, spreads
from benchmarks.cpu import sampling
from benchmarks.measurement import Effort, Outcome, median
from benchmarks.nexmark_load import LAST_ID, SLACK_SECONDS, STREAMS, Load, write_load
from benchmarks.pace import Mark, Pace, pace
from benchmarks.penstock_side import PATIENCE_SECONDS, one_file_a_run
from benchmarks.session import STORES, Store, collect_garbage, streaming_session
from penstock.engine.sinks.sink import Delivery
from penstock.plan.operators import Scan
from penstock.runtime.work.live_unit import LiveUnit

EXAMPLES = Path(__file__).parents[1] / "examples/nexmark"
LONG = "5 MINUTES"
COLUMNS = (
    "query",
    "Penstock (rows/s)",
    "peer (rows/s)",
    "peer's store",
    "ratio",
    "CPU ratio",
)
PENSTOCK, ALL_AT_ONCE = "Penstock", "all five at once"


@dataclass(frozen=True, slots=True)
class Query:
    """What Structured Streaming runs, and what a batch says where that must be put differently."""

    name: str
    streams: tuple[str, ...]
    streaming: str
    batch: str = ""


QUERIES = (
    Query(
        "q3",
        ("auction", "person"),
        f"""SELECT p.name, p.city, p.state, a.id FROM auction AS a JOIN person AS p
        ON a.seller = p.id AND p.date_time <= a.date_time + INTERVAL {LONG}
          AND a.date_time <= p.date_time + INTERVAL {LONG}
        WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca')""",
    ),
    Query(
        "q4",
        ("auction", "bid"),
        f"""WITH valid AS (
          SELECT a.id, a.category, b.price, b.date_time FROM auction AS a JOIN bid AS b
          ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
            AND b.date_time <= a.date_time + INTERVAL {LONG}),
        won AS (
          SELECT window, category, max(price) AS price
          FROM valid GROUP BY window(date_time, '{LONG}'), id, category)
        SELECT category, avg(price) AS average FROM won GROUP BY window, category""",
    ),
    Query(
        "q5",
        ("bid",),
        """WITH counts AS (
          SELECT window, auction, count(*) AS bids
          FROM bid GROUP BY window(date_time, '10 seconds', '2 seconds'), auction),
        lists AS (SELECT collect_list(struct(bids, auction)) AS l FROM counts GROUP BY window),
        hot AS (SELECT explode(filter(l, e -> e.bids = array_max(l).bids)) AS h FROM lists)
        SELECT h.auction, h.bids FROM hot""",
        """WITH counts AS (
          SELECT window, auction, count(*) AS bids
          FROM bid GROUP BY window(date_time, '10 seconds', '2 seconds'), auction)
        SELECT auction, bids FROM counts
        QUALIFY rank() OVER (PARTITION BY window ORDER BY bids DESC) = 1""",
    ),
    Query(
        "q7",
        ("bid",),
        """WITH windows AS (
          SELECT window, max(price) AS price FROM bid GROUP BY window(date_time, '10 seconds')),
        highest AS (SELECT window_time(window) AS at, price FROM windows)
        SELECT b.auction, b.price, b.bidder, b.date_time FROM bid AS b JOIN highest AS h
        ON b.price = h.price AND b.date_time >= h.at - INTERVAL '9.999999' SECOND
          AND b.date_time <= h.at + INTERVAL '0.000001' SECOND""",
    ),
    Query(
        "q8",
        ("person", "auction"),
        """WITH p AS (SELECT id, name, window(date_time, '10 seconds') AS w FROM person),
        a AS (SELECT seller, window(date_time, '10 seconds') AS w FROM auction),
        pairs AS (SELECT p.id, p.name, p.w FROM p JOIN a ON p.id = a.seller AND p.w = a.w)
        SELECT id, name, w.start AS window_start FROM pairs GROUP BY id, name, w""",
    ),
)
TINY = Load(Path(), 1_000, 6)
QUICK = Load(Path(), 40_000, 12)
ALL = Load(Path(), 100_000, 20)
SKIPPED = 2  # first batches are start-up
Said = dict[str, list[pa.Table]]


@dataclass(slots=True)
class Log:
    """When each unit had taken how many rows from streams, and when anything was done last."""

    streams: dict[str, frozenset[str]] = field(default_factory=dict)
    taken: list[tuple[float, str, int]] = field(default_factory=list)
    last: float = 0.0

    def tap(self, _: Delivery) -> None:
        """Note a delivery."""
        self.last = time.time()

    def marks(self, load: Load) -> list[Mark]:
        """Return how far the slowest unit was, in rows of all streams read; then the end."""
        batch = {unit: load.rows(*names) for unit, names in self.streams.items()}
        whole = load.rows(*frozenset().union(*self.streams.values()))
        done: Counter[str] = Counter()
        marks = []
        for at, unit, rows in self.taken:
            done[unit] += rows
            batches = min(done[each] / size for each, size in batch.items())
            marks.append(Mark(round(min(batches, load.batches) * whole), at))
        assert done, "nothing was worked through"
        end = Mark(load.batches * whole, self.last)
        assert marks[-1].rows == end.rows, "some rows were not worked through"
        return [*marks[:-1], end]


@contextmanager
def logging() -> Iterator[Log]:
    """Log what every unit of this process does; the connection's taps must have the log's."""
    log = Log()
    execute = LiveUnit.execute

    def logged_execute(
        live: LiveUnit, processor: Any, number: int, inputs: Any, *more: Any, **options: Any
    ) -> Any:
        output = execute(live, processor, number, inputs, *more, **options)
        log.last = time.time()
        leaves = zip(live.unit.inputs, live.unit.leaves, strict=True)
        read = {name: leaf.stream.lower() for name, leaf in leaves if isinstance(leaf, Scan)}
        if read:
            log.streams[live.unit.key] = frozenset(read.values())
            rows = sum(t.rows.count for name in read for t in inputs.get(name, ()))
            log.taken.append((log.last, live.unit.key, rows))
        return output

    with mock.patch.object(LiveUnit, "execute", logged_execute):
        yield log


def nexmark(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Check every query at a tiny size, then measure."""
    bench = _Bench(spark, directory / uuid4().hex)
    refused = {q.name: why for q in QUERIES if (why := bench.check(q)) is not None}
    bench.check_all_at_once()
    load = TINY if effort.tiny else ALL if effort.full else QUICK
    paces: dict[str, dict[str, list[Pace]]] = {}
    for query in QUERIES:
        paces[query.name] = bench.paces(query, load, effort.repetitions, query.name in refused)
        print("  " + " | ".join(_line(query.name, paces[query.name])), flush=True)
    runs = range(effort.repetitions)
    paces[ALL_AT_ONCE] = {PENSTOCK: [bench.penstock_pace(QUERIES, load) for _ in runs]}
    rows = [_line(q.name, paces[q.name]) for q in QUERIES] + [_sum_line(load, paces)]
    print("  " + " | ".join(rows[-1]), flush=True)
    raw = {
        "load": {"events": load.events, "batches": load.batches},
        "refused": refused,
        "paces": {
            query: {side: list(map(asdict, each)) for side, each in sides.items()}
            for query, sides in paces.items()
        },
    }
    title = f"Nexmark over Parquet files ({load.events * load.batches:,} events)"
    return Outcome("nexmark", title, COLUMNS, rows, _notes(load, paces, refused), raw)


def _line(name: str, paces: dict[str, list[Pace]]) -> list[str]:
    own = rate(paces[PENSTOCK])
    store = better_store(paces)
    if store is None:
        return [name, f"{own:,.0f}", "cannot", "", "", ""]
    cpu = {side: median(each.cpu_a_million for each in all_) for side, all_ in paces.items()}
    peer = rate(paces[store])
    ratios = f"{own / peer:.2f}x", f"{cpu[store] / cpu[PENSTOCK]:.2f}x"
    return [name, f"{own:,.0f}", f"{peer:,.0f}", store, *ratios]


def _sum_line(load: Load, paces: dict[str, dict[str, list[Pace]]]) -> list[str]:
    """Return all five in Penstock at once against the peer's one after another."""
    seconds = cpu = 0.0  # of the peer, for a batch
    for query in QUERIES:
        if (store := better_store(paces[query.name])) is not None:
            rows, found = load.rows(*query.streams), paces[query.name][store]
            seconds += rows / rate(found)
            cpu += rows * median(each.cpu_a_million for each in found) / 1_000_000
    own = paces[ALL_AT_ONCE][PENSTOCK]
    own_cpu = load.rows() * median(each.cpu_a_million for each in own) / 1_000_000
    peer = load.rows() / seconds
    ratios = f"{rate(own) / peer:.2f}x", f"{cpu / own_cpu:.2f}x"
    return [ALL_AT_ONCE, f"{rate(own):,.0f}", f"{peer:,.0f}", "sum of the above", *ratios]


def _notes(
    load: Load, paces: dict[str, dict[str, list[Pace]]], refused: dict[str, str]
) -> list[str]:
    alone = sum(load.rows(*q.streams) / rate(paces[q.name][PENSTOCK]) for q in QUERIES)
    together = load.rows() / rate(paces[ALL_AT_ONCE][PENSTOCK])
    return [
        "Medians; every query was compared with its batch form at a small size before.",
        f"Files of {load.events:,} events and a minute each; {LONG.lower()} for Nexmark's days.",
        "From the end of the second batch to the last row delivered.",
        f"Penstock needs {alone:.2f} s for a batch of each query by itself, {together:.2f} s for "
        "all five at once.",
        *(f"Structured Streaming cannot express {name}: {why}" for name, why in refused.items()),
        *(f"{name}: {spreads(sides)}" for name, sides in paces.items()),
    ]


class _Bench:
    """Runs queries, each time on files of another day."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark, self._directory = spark, directory
        self._days = itertools.count()

    def check(self, query: Query) -> str | None:
        """See that both sides say what the batch says; return why the peer cannot, if so."""
        with self._files(TINY) as load:
            expected = self._expected(query, load)
            said: Said = defaultdict(list)
            self._penstock((query,), load, said)
            assert _bag(said[query.name]) == expected, f"Penstock gives other rows for {query.name}"
            for store in STORES:
                said = defaultdict(list)
                try:
                    self._streaming(store, query, load, said)
                except AnalysisException as error:
                    return str(error).splitlines()[0]
                assert _bag(said[query.name]) == expected, f"{store.name}: other rows, {query.name}"
        return None

    def check_all_at_once(self) -> None:
        """See that the queries say the same when they share their scans."""
        with self._files(TINY) as load:
            said: Said = defaultdict(list)
            self._penstock(QUERIES, load, said)
            for query in QUERIES:
                assert _bag(said[query.name]) == self._expected(query, load), query.name

    def paces(self, query: Query, size: Load, repeats: int, refused: bool) -> dict[str, list[Pace]]:
        """Return each side's paces, one a repetition, the sides taking turns."""
        found: dict[str, list[Pace]] = defaultdict(list)
        for _ in range(repeats):
            found[PENSTOCK].append(self.penstock_pace((query,), size))
            for store in () if refused else STORES:
                if not is_beaten(store.name, found):
                    found[store.name].append(self._streaming_pace(store, query, size))
        return dict(found)

    def penstock_pace(self, queries: Sequence[Query], size: Load) -> Pace:
        """Return how fast Penstock is with these queries."""
        streams = {name for query in queries for name in query.streams}
        with self._files(size) as load:
            return self._pace(load, streams, lambda: self._penstock(queries, load))

    def _streaming_pace(self, store: Store, query: Query, size: Load) -> Pace:
        with self._files(size) as load:
            return self._pace(load, query.streams, lambda: self._streaming(store, query, load))

    def _pace(self, load: Load, streams: Iterable[str], run: Callable[[], list[Mark]]) -> Pace:
        collect_garbage(self._spark)
        with sampling(self._spark) as usage:
            marks = run()
        return pace(marks, SKIPPED * load.rows(*streams), usage)

    @contextmanager
    def _files(self, size: Load) -> Iterator[Load]:
        load = size.on_day(next(self._days), self._directory / "files")
        write_load(load)
        try:
            yield load
        finally:
            shutil.rmtree(self._directory)

    def _expected(self, query: Query, load: Load) -> Counter[tuple[Any, ...]]:
        session = self._spark.newSession()
        for name in query.streams:
            session.read.parquet(str(load.path / name)).createOrReplaceTempView(name)
        expected = _bag([session.sql(query.batch or query.streaming).toArrow()])
        assert expected, f"{query.name} says nothing about this load"
        return expected

    def _penstock(
        self, queries: Sequence[Query], load: Load, said: Said | None = None
    ) -> list[Mark]:
        home = self._directory / uuid4().hex
        with (
            one_file_a_run(),
            logging() as log,
            penstock.connect(home, spark=self._spark) as connection,
        ):
            connection.tap(log.tap)
            if said is not None:
                connection.tap(lambda delivery: said[delivery.query].append(delivery.rows))
            connection.script(_script(queries, load))
            assert connection.wait(PATIENCE_SECONDS), "Penstock did not get through"
        return log.marks(load)

    def _streaming(
        self, store: Store, query: Query, load: Load, said: Said | None = None
    ) -> list[Mark]:
        session, name = streaming_session(self._spark, store), f"answer_{uuid4().hex}"
        for stream in query.streams:
            path = str(load.path / stream)
            reader = session.readStream.schema(session.read.parquet(path).schema)
            rows = reader.option("maxFilesPerTrigger", 1).parquet(path)
            rows = rows.withWatermark("date_time", f"{SLACK_SECONDS} seconds")
            rows.createOrReplaceTempView(stream)
        writer = session.sql(query.streaming).writeStream.outputMode("append").queryName(name)
        writer = writer.trigger(availableNow=True).format("noop" if said is None else "memory")
        started = writer.option("checkpointLocation", str(self._directory / name)).start()
        started.awaitTermination()
        if said is not None:
            said[query.name].append(session.table(name).toArrow())
            session.catalog.dropTempView(name)
        return _marks(started.recentProgress, load.rows(*query.streams))


def _marks(progresses: Sequence[Any], rows: int) -> list[Mark]:
    """Return the ends of the batches, so many rows each; what came without rows ends the last."""
    marks: list[Mark] = []
    for progress in progresses:
        began = datetime.fromisoformat(progress["timestamp"]).timestamp()
        at = began + progress["durationMs"]["triggerExecution"] / 1000
        if progress["numInputRows"]:
            marks.append(Mark((len(marks) + 1) * rows, at))
        elif marks and "addBatch" in progress["durationMs"]:
            marks[-1] = Mark(marks[-1].rows, at)
    farewell = marks.pop()
    return [*marks[:-1], Mark(marks[-1].rows, farewell.at)]


def _script(queries: Sequence[Query], load: Load) -> str:
    """Return the streams, from this load's files, and the queries, their days cut short."""
    streams = (EXAMPLES / "streams.sql").read_text()
    for name in STREAMS:
        path = f"path => '{load.path / name}', format => 'parquet', files_per_train => 1"
        streams = re.sub(rf"path => '[^']*/{name}', format => 'json'", path, streams)
    texts = [(EXAMPLES / f"{query.name}.sql").read_text() for query in queries]
    return streams + "".join(text.replace("1 DAY", LONG) for text in texts)


def _bag(tables: Sequence[pa.Table]) -> Counter[tuple[Any, ...]]:
    """Return the rows as a bag, without those of the event that only closes windows."""
    rows = (row for table in tables for row in table.to_pylist())
    return Counter(
        tuple(f"{each:.9g}" if isinstance(each, float) else each for each in row.values())
        for row in rows
        if row.get("auction") != LAST_ID - 1
    )
