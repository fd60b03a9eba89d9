"""A thread that reads all partitions of a stream with one client and keeps what waits.

The client assigns itself its partitions: no group, nothing committed to the broker. Whatever goes
wrong is kept as `failure` for who asks next, and tried again with growing pauses.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.clock import Clock
from penstock.engine.clients.kafka.place import KafkaPlace
from penstock.engine.clients.kafka.told import told
from penstock.engine.interfaces.kafka.offsets import Partition, Positions, Run, TrainRuns
from penstock.engine.interfaces.kafka.subject import Beginnings, Subject, edges_of
from penstock.engine.secrets import Secrets
from penstock.errors import PenstockError, SourceError, describe

GROUP = "penstock"  # the driver wants one; none is joined, and nothing is committed to it
NOT_LET_IN = (KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError._RESOLVE)
Records = Mapping[Partition, list[Message]]


@dataclass(frozen=True, slots=True)
class FeedLimits:
    """How much waits and is asked for at once, and how often things are looked at."""

    waiting_bytes: int = 64 << 20  # beside as much in the driver
    chunk_records: int = 5_000  # some 5 ms of this thread
    poll_seconds: float = 0.1
    discover_seconds: float = 10.0  # between two looks at which partitions there are
    longest_pause: float = 30.0
    ask_seconds: float = 5.0  # at most, for one answer that nothing can be read without
    leave_seconds: float = 5.0  # for the thread to end, before it is left to itself


FEED_LIMITS = FeedLimits()


@dataclass(frozen=True, slots=True)
class Waiting:
    """Records that were read together: how far that brought each partition, and when."""

    records: Records
    size: int
    rows: int
    arrived: float


@dataclass(frozen=True, slots=True)
class Taken:
    """A train's worth of records, and what the journal has to know of them."""

    runs: TrainRuns
    records: Records
    arrived: float


@dataclass(frozen=True, slots=True)
class FeedPlan:
    """What a feed reads, from where, and how."""

    place: KafkaPlace
    subject: Subject
    isolation: str
    idle_seconds: float | None
    clock: Clock
    most_rows: int
    limits: FeedLimits = FEED_LIMITS

    @property
    def chunk_records(self) -> int:
        """Return how many records are asked for at once: none has more than a train."""
        return min(self.limits.chunk_records, self.most_rows)

    @property
    def ask_seconds(self) -> float:
        """Return how long one answer is waited for."""
        return min(self.limits.ask_seconds, self.place.seconds)


@dataclass(slots=True)
class _Progress:
    """How far the thread has come with one partition."""

    position: int
    taken: int  # up to where trains have it
    heard: float
    caught_up: bool = False


@dataclass(slots=True)
class _Shared:
    """What both threads see, under `lock`."""

    lock: threading.Condition = field(default_factory=threading.Condition)
    waiting: deque[Waiting] = field(default_factory=deque)
    size: int = 0
    progress: dict[Partition, _Progress] = field(default_factory=dict)
    failure: PenstockError | None = None
    stopping: bool = False


class PartitionFeed:
    """Reads from `after` on, or from where the beginnings say; `tell` is called when more came."""

    def __init__(
        self,
        plan: FeedPlan,
        beginnings: Beginnings,
        after: Positions,
        tell: Callable[[], None],
    ) -> None:
        self._plan, self._beginnings, self._tell = plan, beginnings, tell
        self._shared = _Shared()
        self._secrets = Secrets()
        self._failures = 0
        self._heard: KafkaError | None = None  # why no broker lets us in
        now = plan.clock.now()
        self._shared.progress = {p: _Progress(at, at, now) for p, at in after.items()}
        self._thread = threading.Thread(target=self._run, name="kafka", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def close(self) -> None:
        """Stop reading; a thread that waits for a broker ends by itself."""
        with self._shared.lock:
            self._shared.stopping = True
            self._shared.lock.notify_all()
        if self._thread.is_alive():
            self._thread.join(self._plan.limits.leave_seconds)

    @property
    def ended(self) -> bool:
        """Say whether a bounded stream has been taken to its end."""
        ends = self._beginnings.ends
        with self._shared.lock:
            if not self._plan.subject.bounded or self._beginnings.is_new or self._shared.waiting:
                return False
            progress = self._shared.progress
            return all(p in progress and progress[p].position >= end for p, end in ends.items())

    def take(self) -> Taken | None:
        """Return a train of what waits, or None; raise what keeps it from reading."""
        shared = self._shared
        with shared.lock:
            if not shared.waiting:
                if shared.failure is not None:
                    raise shared.failure
                return None
            first = shared.waiting.popleft()
            chunks, rows = [first], first.rows
            while shared.waiting and rows + shared.waiting[0].rows <= self._plan.most_rows:
                chunks.append(shared.waiting.popleft())
                rows += chunks[-1].rows
            shared.size -= sum(chunk.size for chunk in chunks)
            shared.lock.notify_all()
            records = _joined(chunks)
            return Taken(self._runs(records), records, first.arrived)

    def _runs(self, records: Records) -> TrainRuns:
        """Return what a train holds of each partition, and step behind it."""
        runs, silent = {}, set[Partition]()
        now = self._plan.clock.now()
        for partition, progress in self._shared.progress.items():
            found = records.get(partition, [])
            after = progress.taken if not found else _offset(found[-1]) + 1
            runs[partition] = Run(progress.taken, after, len(found))
            progress.taken = after
            if not found and self._is_silent(partition, progress, now):
                silent.add(partition)
        return TrainRuns(runs, frozenset(silent))

    def _is_silent(self, partition: Partition, progress: _Progress, now: float) -> bool:
        """Say whether a partition that gave nothing now is not waited for, either."""
        if progress.position > progress.taken or not progress.caught_up:
            return False  # more of it waits
        end = self._beginnings.ends.get(partition)
        if end is not None and progress.position >= end:
            return True
        if progress.position == self._beginnings.starts.get(partition):
            return True  # it has never given anything
        idle = self._plan.idle_seconds
        return idle is not None and now - progress.heard >= idle

    def _run(self) -> None:
        while not self._shared.stopping:
            try:
                self._read()
            except KafkaException as error:
                why = self._heard or error
                self._fail(told(self._plan.place, why, SourceError, self._secrets))
            except PenstockError as error:
                self._fail(error)
            except Exception as error:  # else the stream would be silent for ever
                self._fail(SourceError(describe(error)))

    def _fail(self, error: PenstockError) -> None:
        """Keep a failure, and pause: longer each time."""
        pause = min(self._plan.limits.longest_pause, 0.5 * 2.0**self._failures)
        self._failures += 1
        with self._shared.lock:
            self._shared.failure = error
            self._shared.lock.wait_for(lambda: self._shared.stopping, pause)

    def _read(self) -> None:
        """Read until something fails or nobody wants more."""
        self._heard = None
        config = self._plan.place.client(self._secrets)
        consumer = Consumer(
            {
                **config,
                "group.id": GROUP,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": self._plan.isolation,
                "queued.max.messages.kbytes": self._plan.limits.waiting_bytes >> 10,
                "fetch.queue.backoff.ms": 10,
                "error_cb": self._heard_error,
            }
        )
        try:
            looked = self._assign(consumer)
            while self._has_room():
                self._take_in(consumer)
                if self._plan.clock.now() - looked >= self._plan.limits.discover_seconds:
                    looked = self._assign(consumer)
        except KafkaException:
            consumer.poll(0)  # so that the driver says what it has heard
            raise
        finally:
            consumer.close()

    def _assign(self, consumer: Consumer) -> float:
        """Assign the partitions that are there and not assigned yet; return when that was."""
        plan, now = self._plan, self._plan.clock.now()
        found = plan.subject.partitions(consumer, plan.ask_seconds)
        self._beginnings.add(plan.subject, found, consumer, plan.ask_seconds)
        wanted = found | self._shared.progress.keys()
        if plan.subject.bounded:
            wanted &= self._beginnings.ends.keys()
        new = wanted - {(each.topic, each.partition) for each in consumer.assignment()}
        starts = self._beginnings.starts
        with self._shared.lock:
            for each in new:
                at = starts.get(each, 0)
                self._shared.progress.setdefault(each, _Progress(at, at, now))
            places = {each: self._shared.progress[each].position for each in new}
        for each, position in places.items():
            self._refuse_lost(each, position, edges_of(consumer, each, plan.ask_seconds))
        if new:
            consumer.incremental_assign([TopicPartition(*p, at) for p, at in places.items()])
        with self._shared.lock:
            self._shared.failure = None
        self._failures = 0
        return now

    def _refuse_lost(self, partition: Partition, position: int, edges: tuple[int, int]) -> None:
        """Raise where the records that come next are not there any more."""
        low, high = edges
        topic, number = partition
        if position < low:
            raise SourceError(
                f"{topic}, partition {number}: the records from {position} to {low - 1} are gone "
                "and were not read; retention has taken them",
                hint="drop the stream and make it again to begin with what is there; a longer "
                "retention of the topic keeps what is not read yet",
            )
        if position > high:
            raise SourceError(
                f"{topic}, partition {number} ends at {high}, and was read up to {position}: "
                "it was made anew, or its broker has lost records",
                hint="drop the stream and make it again to begin with what is there",
            )

    def _has_room(self) -> bool:
        """Wait until there is room for more; False where nobody wants it."""
        shared, most = self._shared, self._plan.limits.waiting_bytes
        with shared.lock:
            shared.lock.wait_for(lambda: shared.stopping or shared.size < most)
            return not shared.stopping

    def _take_in(self, consumer: Consumer) -> None:
        """Keep what has come, once something has: the driver waits for a full number else."""
        first = consumer.poll(self._plan.limits.poll_seconds)
        if first is None:
            return
        messages = [first, *consumer.consume(self._plan.chunk_records - 1, 0)]
        records: defaultdict[Partition, list[Message]] = defaultdict(list)
        caught_up: dict[Partition, int] = {}
        for message in messages:  # a million of them: nothing here is for nothing
            error = message.error()
            if error is None:
                records[message.topic(), message.partition()].append(message)  # type: ignore[index]  # only errors have none
            elif error.code() == KafkaError._PARTITION_EOF:
                caught_up[_partition(message)] = _offset(message)
            else:
                self._raise_what_is_wrong(consumer, _partition(message), error)
        for partition, found in records.items():  # what came behind its end
            if caught_up.get(partition, 0) <= _offset(found[-1]):
                caught_up.pop(partition, None)
        self._keep(*self._within_ends(records, caught_up))

    def _raise_what_is_wrong(
        self, consumer: Consumer, partition: Partition, error: KafkaError
    ) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            edges = edges_of(consumer, partition, self._plan.ask_seconds)
            self._refuse_lost(partition, self._shared.progress[partition].position, edges)
        raise told(self._plan.place, error, SourceError, self._secrets)

    def _keep(self, records: Records, caught_up: Mapping[Partition, int]) -> None:
        now, shared = self._plan.clock.now(), self._shared
        size = sum(sum(map(len, found)) for found in records.values())
        rows = sum(map(len, records.values()))
        with shared.lock:
            if shared.stopping:
                return
            shared.failure = None
            for partition, found in records.items():
                progress = shared.progress[partition]
                progress.position = _offset(found[-1]) + 1
                progress.heard, progress.caught_up = now, False
            for partition, at in caught_up.items():
                progress = shared.progress[partition]
                progress.position = max(progress.position, at)
                progress.caught_up = True
            if rows:
                shared.waiting.append(Waiting(records, size, rows, now))
                shared.size += size
        if rows:
            self._tell()

    def _within_ends(
        self, records: Records, caught_up: Mapping[Partition, int]
    ) -> tuple[Records, Mapping[Partition, int]]:
        """Leave out what lies behind the ends of a bounded stream, which is read no further."""
        if not self._plan.subject.bounded:
            return records, caught_up
        ends = self._beginnings.ends
        kept = {p: [m for m in found if _offset(m) < ends[p]] for p, found in records.items()}
        over = {p: ends[p] for p, found in records.items() if len(kept[p]) < len(found)}
        return {p: found for p, found in kept.items() if found}, {**caught_up, **over}

    def _heard_error(self, error: KafkaError) -> None:
        """Keep what the driver says of brokers, which it goes on to try by itself."""
        if error.code() in NOT_LET_IN:
            self._heard = error
        if error.code() in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT) and not error.fatal():
            return  # one broker, or one request: others may answer
        with self._shared.lock:
            self._shared.failure = told(self._plan.place, error, SourceError, self._secrets)


def _joined(chunks: Iterable[Waiting]) -> Records:
    records: dict[Partition, list[Message]] = {}
    for chunk in chunks:
        for partition, found in chunk.records.items():
            records.setdefault(partition, []).extend(found)
    return records


def _offset(message: Message) -> int:
    return int(message.offset() or 0)


def _partition(message: Message) -> Partition:
    return str(message.topic()), int(message.partition() or 0)
