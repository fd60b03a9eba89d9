"""How many tasks an application can run at once: its executors' cores, as they come and go."""

from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark import SparkContext

from penstock.engine.spark.application.shipped_package import is_local


class Cores:
    """The number of cores; of a cluster it is looked up again by `look`."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self.now = max(1, context.defaultParallelism)
        self.look()

    def look(self) -> int:
        """Look again, and return how many there are, never less than one.

        While no executor is there, one task may wait for it.
        """
        if not is_local(self._context):
            with suppress(Py4JError, OSError):  # who asks Spark for work will hear of it
                self.now = max(1, self._registered())
        return self.now

    def _registered(self) -> int:
        """Return the cores of all executors; Spark's own parallelism is two where there is one."""
        backend = self._context._jsc.sc().schedulerBackend()
        try:
            return int(backend.totalCoreCount())
        except Py4JError:  # a backend of somebody else's
            return int(self._context.defaultParallelism)
