"""kafka(servers => …, topic => …, key => …, format => …): a record for each row, exactly once.

This module needs no driver: `transactions.py`, which does, is loaded when the sink opens.
"""

from importlib import import_module
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.clients.kafka.place import PLACE_OPTIONS, KafkaPlace
from penstock.engine.options import Declared, one_of, read_options, text
from penstock.engine.sinks.kafka.payloads import payloads
from penstock.engine.sinks.sink import ALONE, Delivery, SinkSurroundings
from penstock.errors import PenstockError, SinkError
from penstock.model.definitions import Connector, QueryDefinition

OPTIONS = {
    **PLACE_OPTIONS,
    "topic": Declared(text, required=True, about="the topic that records go into"),
    "key": Declared(text, about="the column whose values are the records' keys"),
    "format": Declared(one_of("json", "csv", "raw"), default="json", about="of the values"),
    "compression": Declared(
        one_of("none", "gzip", "snappy", "lz4", "zstd"), default="none", about="of the records"
    ),
}


class KafkaSink:
    """One query's rows into one topic; a delivery and its number are one transaction."""

    repeatable = True

    def __init__(self, definition: QueryDefinition, around: SinkSurroundings = ALONE) -> None:
        options = _options(definition)
        self._place = KafkaPlace.of(options)
        self._query, self._around = definition.name, around
        self._topic: str = options["topic"]
        self._key: str | None = options["key"]
        self._format: str = options["format"]
        self._compression: str = options["compression"]
        self._known: int | None = None
        self._transactions: Any = None

    @classmethod
    def check(cls, definition: QueryDefinition) -> None:
        """Raise what is wrong with the options."""
        _options(definition)

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where the operator has not named a server."""
        self._place.require_allowed(allowed)

    def expect(self, known: int) -> None:
        """Take the number of the last delivery of which the journal knows."""
        self._known = known

    def open(self) -> None:
        self.require_allowed(self._around.allowed())
        self.close()
        module = import_module("penstock.engine.sinks.kafka.transactions")
        transactions = module.Transactions(
            self._place, self._topic, self._compression, self._around.home(), self._query
        )
        try:
            self._refuse_unknown(transactions.open())
        except BaseException:
            transactions.close()
            raise
        self._transactions = transactions

    def write(self, delivery: Delivery) -> None:
        # From now on it may be in, whatever becomes of us.
        self._known = max(self._known or 0, delivery.number)
        if self._transactions is None:  # it failed before, and what became of that is read anew
            self.open()
        records = payloads(delivery.rows, self._format, self._key)
        try:
            self._transactions.write(delivery.number, records)
        except PenstockError:
            self.close()
            raise

    def close(self) -> None:
        if self._transactions is not None:
            self._transactions.close()
            self._transactions = None

    def _refuse_unknown(self, last: int) -> None:
        """Raise where the cluster has deliveries of which the journal has lost all memory.

        What comes next would bear their numbers with other rows, and would be left out in silence.
        """
        if self._known is not None and last > self._known:
            raise SinkError(
                f"{self._place} has delivery {last} of query {self._query}, and this home knows "
                f"them up to {self._known}: it is an older copy, or lost power",
                hint=f"set the records of {self._topic} right, then write a record with the key "
                f"{self._around.home()}/{self._query.lower()} and the value {self._known} into "
                f"penstock_deliveries, and RESUME QUERY {self._query}",
            )


def _options(definition: QueryDefinition) -> dict[str, Any]:
    options = read_options(definition.sink or Connector("kafka"), OPTIONS)
    KafkaPlace.of(options)
    return options
