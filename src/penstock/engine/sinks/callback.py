"""Results handed to a Python function: a sink for the API; SQL cannot name it."""

from collections.abc import Callable

import pyarrow as pa

from penstock.engine.sinks.sink import Delivery
from penstock.errors import SinkError


class CallbackSink:
    """Calls `function(rows, number)` once a delivery.

    Say `repeatable` where the function makes the same of a number that comes again.
    """

    def __init__(
        self, function: Callable[[pa.Table, int], object], *, repeatable: bool = False
    ) -> None:
        self._function = function
        self._repeatable = repeatable

    @property
    def repeatable(self) -> bool:
        return self._repeatable

    def open(self) -> None:
        """Nothing is needed."""

    def write(self, delivery: Delivery) -> None:
        try:
            self._function(delivery.rows, delivery.number)
        except (Exception, SystemExit) as error:  # it may raise anything
            raise SinkError(
                f"the callback of {delivery.query} failed on delivery {delivery.number}: "
                f"{type(error).__name__}: {error}",
                hint="the error it raised is this error's cause",
            ) from error

    def close(self) -> None:
        """Nothing is held."""
