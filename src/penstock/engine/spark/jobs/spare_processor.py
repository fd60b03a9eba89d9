"""A processor for work on the side: its files and views go when it does."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame

from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.jobs.processor import Processor


class SpareProcessor(Processor):
    """A processor that remembers the views it has made."""

    def __init__(self, sessions: Sessions, spill: Path) -> None:
        """Share the sessions; write below `spill`."""
        super().__init__(sessions, spill)
        self._made: set[str] = set()

    def _show(self, frame: DataFrame, view: str) -> None:
        self._made.add(view)  # one step, whichever lane it is
        super()._show(frame, view)

    def drop_views(self) -> None:
        """Release what the views hold; other users of their names create them anew."""
        for session in (self._sessions.small, self._sessions.large, self._sessions.wide):
            for view in self._made:
                session.catalog.dropTempView(view)


@contextmanager
def spare_processor(sessions: Sessions, spill: Path) -> Iterator[Processor]:
    """Give a processor for a while; only where no unit runs, since views are named by units."""
    spill.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="spare-", dir=spill) as directory:
        processor = SpareProcessor(sessions, Path(directory))
        try:
            yield processor
        finally:
            processor.close_lanes()
            processor.drop_views()
