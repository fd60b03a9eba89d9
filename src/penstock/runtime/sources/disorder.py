"""Disorder: how far behind the greatest time a stream's tuples may come, stated or measured."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.trains.rows import Rows
from penstock.model.definitions import AdaptiveSlack
from penstock.qos.monitor.columns import seconds_of
from penstock.qos.monitor.digest import BUCKETS, Digest
from penstock.qos.monitor.slack import Slack

MICROSECONDS = 1_000_000


class Disorder:
    """Says where a stream's watermark stands. What was measured changes with each train alone."""

    def __init__(self, stated: timedelta | AdaptiveSlack) -> None:
        """Take what the stream's definition says."""
        self._stated = stated
        self.measured = Slack()

    @property
    def is_measured(self) -> bool:
        """Say whether every train's times have to be seen."""
        return isinstance(self._stated, AdaptiveSlack)

    @property
    def slack(self) -> timedelta:
        """Return the slack as it is now."""
        if isinstance(self._stated, AdaptiveSlack):
            return timedelta(seconds=self.measured.slack(self._stated.share))
        return self._stated

    def take(self, rows: Rows, column: str, arrived: float) -> None:
        """See the times of a train, in the order in which they came."""
        if self.is_measured and rows.count:
            self.measured = self.measured.add(seconds_of(_times(rows, column)), arrived)

    def mark(self, high: int) -> int:
        """Return the watermark where the greatest time (microseconds) is `high`."""
        if self.is_measured and self.measured.high is not None:
            high = min(high, round(self.measured.high * MICROSECONDS))
        return high - round(self.slack.total_seconds() * MICROSECONDS)


def slack_to_json(slack: Slack) -> dict[str, Any]:
    """Return what was measured, for a checkpoint; few buckets of a digest have something."""
    found = {each.name: getattr(slack, each.name) for each in fields(slack)}
    places = np.flatnonzero(slack.delays.weights)
    weights = slack.delays.weights[places]
    return {**found, "delays": [places.tolist(), weights.tolist()]}


def slack_from_json(kept: Mapping[str, Any]) -> Slack:
    """Return what a checkpoint kept."""
    weights = np.zeros(BUCKETS)
    places, values = kept["delays"]
    weights[places] = values
    return Slack(**{**kept, "delays": Digest(weights)})


def _times(rows: Rows, column: str) -> pa.ChunkedArray:
    if rows.table is not None:
        return rows.table[column].drop_null()
    parts = [
        pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read(columns=[column])[column]
        for path in rows.paths
    ]
    chunks = [chunk.cast(pa.timestamp("us", "UTC")) for part in parts for chunk in part.chunks]
    return pa.chunked_array(chunks, pa.timestamp("us", "UTC")).drop_null()
