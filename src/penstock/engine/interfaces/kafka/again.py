"""Records of a train that is not at hand any more, read again by their offsets."""

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.clock import Clock
from penstock.engine.clients.kafka.place import KafkaPlace
from penstock.engine.clients.kafka.told import told
from penstock.engine.interfaces.kafka.feed import GROUP, Records
from penstock.engine.interfaces.kafka.offsets import Partition, Run, TrainRuns
from penstock.engine.secrets import Secrets
from penstock.errors import SourceError

CHUNK = 5_000  # records that are asked for at once
POLL_SECONDS = 0.1


def read_again(place: KafkaPlace, isolation: str, runs: TrainRuns, clock: Clock) -> Records:
    """Return the records of a train; SourceError where one of them is not there any more."""
    secrets = Secrets()
    wanted = dict(runs.held)
    if not wanted:
        return {}
    try:
        consumer = Consumer(
            {
                **place.client(secrets),
                "group.id": GROUP,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": isolation,
            }
        )
        try:
            consumer.assign([TopicPartition(*p, run.first) for p, run in wanted.items()])
            return _Reading(consumer, wanted).all(place, secrets, clock)
        finally:
            consumer.close()
    except KafkaException as error:
        raise told(place, error, SourceError, secrets) from error


class _Reading:
    """What has come of each partition, and which of them are not over."""

    def __init__(self, consumer: Consumer, wanted: dict[Partition, Run]) -> None:
        self._consumer, self._wanted = consumer, wanted
        self._found: dict[Partition, list[Message]] = {each: [] for each in wanted}
        self._open = set(wanted)

    def all(self, place: KafkaPlace, secrets: Secrets, clock: Clock) -> Records:
        heard = clock.now()
        while self._open:
            first = self._consumer.poll(POLL_SECONDS)
            messages = [] if first is None else [first, *self._consumer.consume(CHUNK, 0)]
            for message in messages:
                error = message.error()
                if error is None:
                    self._take(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._end(message)
                elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                    self._lost(_partition(message))
                else:
                    raise told(place, error, SourceError, secrets)
            heard = clock.now() if messages else heard
            if clock.now() - heard > place.seconds:
                raise SourceError(
                    f"{place} gave nothing for {place.seconds:g} s", hint="it is tried again"
                )
        return self._found

    def _take(self, message: Message) -> None:
        partition = _partition(message)
        if partition not in self._open:
            return
        run, found = self._wanted[partition], self._found[partition]
        if int(message.offset() or 0) >= run.next:
            self._lost(partition)
        found.append(message)
        if len(found) == run.records:
            self._open.discard(partition)

    def _end(self, message: Message) -> None:
        partition = _partition(message)
        if partition in self._open:
            self._lost(partition)

    def _lost(self, partition: Partition) -> None:
        topic, number = partition
        run, found = self._wanted[partition], self._found[partition]
        raise SourceError(
            f"{topic}, partition {number}: of the {run.records} records from {run.first} to "
            f"{run.next - 1}, which are to be read again, {len(found)} are there; retention or "
            "compaction has taken the others",
            hint="keep records for as long as a home may be down; drop the stream and make it "
            "again to begin with what is there",
        )


def _partition(message: Message) -> Partition:
    return str(message.topic()), int(message.partition() or 0)
