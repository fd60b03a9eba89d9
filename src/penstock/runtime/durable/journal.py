"""What has to be known after a crash, so that a replay cuts, groups and delivers the same.

Trains and runs are recorded before they are worked on, deliveries after the sink took them, and a
checkpoint puts an end to all that lies before it, or before the one that is kept beside it.
Recovery is: the last checkpoint's state, then the trains and the runs after it, and no delivery up
to the last one. What is kept has a checksum: a record that is not whole is an error, never another.
"""

import json
import re
import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.errors import HomeError
from penstock.model.functions.time_outs import TimeOuts
from penstock.qos.shedding.worths import WorthCut

SEAL = re.compile("[0-9a-f]{8}")
Keeps = tuple[float, ...]  # of each train that a gate takes; none where all are kept
KEEPS, CUT, TIME_OUTS = "keeps", "cut", "time_outs"  # no keys of buffers: these are hashes
Ranges = Mapping[str, tuple[int, int]]  # a buffer's key: the first and the last train consumed


@dataclass(frozen=True, slots=True)
class RecordedTrain:
    """A train that was cut from its stream: what it holds and when it arrived."""

    stream: str
    number: int
    boundary: Mapping[str, Any]
    arrived: float


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A unit's run over ranges of trains; a gate's run keeps a share of their tuples.

    `time_outs` is what the clock decided in a run of a flow, None where that is not known: the run
    was not over, or the clock decides nothing in it.
    """

    unit: str
    number: int
    inputs: Ranges
    keeps: Keeps = ()
    cut: WorthCut | None = None
    time_outs: TimeOuts | None = None


@dataclass(frozen=True, slots=True)
class RecordedCheckpoint:
    """What a checkpoint's writer needs to find its state again, as JSON data."""

    number: int
    manifest: Mapping[str, Any]


class Journal(Protocol):
    """A durable memory of trains, runs, deliveries and checkpoints; safe in many threads.

    Trains of a stream, runs of a unit and deliveries of a query are each numbered from one
    without gaps; ValueError says that a number is not the next one. Boundaries and manifests
    are JSON data: what was a tuple comes back as a list.
    """

    def record_train(
        self, stream: str, number: int, boundary: Mapping[str, Any], arrived: float
    ) -> None:
        """Remember a train's boundary, before anything is done with it."""
        ...

    def trains_after(self, stream: str, number: int) -> list[RecordedTrain]:
        """Return the stream's trains above that number that no checkpoint has put an end to."""
        ...

    def record_run(
        self, unit: str, number: int, inputs: Ranges, keeps: Keeps = (), cut: WorthCut | None = None
    ) -> None:
        """Remember which trains a run takes, and what a gate will keep of them, before it runs."""
        ...

    def note_time_outs(self, unit: str, number: int, found: TimeOuts) -> None:
        """Remember what the clock decided in a recorded run, before anybody sees what it gave."""
        ...

    def runs_after(self, unit: str, number: int) -> list[RecordedRun]:
        """Return the unit's runs above that number that no checkpoint has put an end to."""
        ...

    def take_back_runs(self, unit: str, after: int) -> None:
        """Forget the unit's runs above that number: they never happened, and will not."""
        ...

    def record_delivery(self, query: str, number: int, rows: int) -> None:
        """Remember that the sink took a delivery, after it did."""
        ...

    def last_delivery(self, query: str) -> int:
        """Return the number of the last delivery, 0 without any."""
        ...

    def delivered_rows(self, query: str) -> int:
        """Return how many rows all deliveries had."""
        ...

    def write_checkpoint(
        self,
        manifest: Mapping[str, Any],
        *,
        trains: Mapping[str, int],
        runs: Mapping[str, int],
        keep: int | None = None,
    ) -> int:
        """Remember a checkpoint in place of all others but one, and return its number.

        At once with it go the trains and runs up to the numbers given, by stream and by unit.
        Once this returns (inside `together`, once that ends) the checkpoint also outlives a
        power cut, and what the one before it needed may be removed.
        """
        ...

    def checkpoints(self) -> list[int]:
        """Return the numbers of the checkpoints that are kept, the newest first."""
        ...

    def checkpoint(self, number: int) -> RecordedCheckpoint:
        """Return a checkpoint that is kept; raise HomeError where it is damaged."""
        ...

    def forget_stream(self, stream: str) -> None:
        """Forget a stream's trains; its next one has number 1."""
        ...

    def forget_unit(self, unit: str) -> None:
        """Forget a unit's runs; its next one has number 1."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """Make all that is recorded inside one step: all of it holds, or none where it raises.

        Other threads wait meanwhile. Inside another `together` it is part of that step.
        """
        ...

    def close(self) -> None:
        """Close the journal and release what it holds."""
        ...


def train_body(boundary: Mapping[str, Any], arrived: float) -> str:
    """Return what a journal keeps of a train."""
    return sealed({"boundary": dict(boundary), "arrived": arrived})


def train_from(stream: str, number: int, body: str) -> RecordedTrain:
    """Return the train that `train_body` kept."""
    kept = unsealed(body)
    return RecordedTrain(stream, number, kept["boundary"], kept["arrived"])


def run_from(unit: str, number: int, body: str) -> RecordedRun:
    """Return the run whose inputs were kept as JSON, with what a gate kept."""
    found = unsealed(body)
    keeps, cut, clock = found.pop(KEEPS, ()), found.pop(CUT, None), found.pop(TIME_OUTS, None)
    return RecordedRun(
        unit,
        number,
        {key: (first, last) for key, (first, last) in found.items()},
        tuple(keeps),
        None if cut is None else WorthCut(*cut),
        TimeOuts.from_json(clock),
    )


def run_body(inputs: Ranges, keeps: Keeps, cut: WorthCut | None = None) -> str:
    """Return a run's inputs as JSON; only a gate that drops has something to add."""
    added: dict[str, Any] = {KEEPS: keeps} if any(each < 1 for each in keeps) else {}
    if cut is not None:
        added[CUT] = [cut.worth, cut.ties]
    return sealed({**inputs, **added})


def with_time_outs(body: str, found: TimeOuts) -> str:
    """Return what is kept of a run with what the clock decided in it."""
    return sealed({**unsealed(body), TIME_OUTS: found.to_json()})


def sealed(data: Mapping[str, Any]) -> str:
    """Return JSON text and its CRC-32; ASCII, since a file's name may hold bytes that are no UTF-8.

    The database has no checksums of its own.
    """
    body = json.dumps(dict(data), separators=(",", ":"))
    return f"{body}#{zlib.crc32(body.encode()):08x}"


def unsealed(text: str) -> dict[str, Any]:
    """Return what was sealed, or raise HomeError where it is not whole."""
    body, _, check = text.rpartition("#")
    whole = SEAL.fullmatch(check) is not None and int(check, 16) == zlib.crc32(body.encode())
    try:
        # Without a seal it is from before there were any; no wrong byte makes a sealed one such.
        found: dict[str, Any] | None = json.loads(body if whole else text)
    except ValueError:
        found = None
    if found is None:
        raise HomeError(
            "a record of the journal is damaged",
            hint="restore the home from a copy; penstock check HOME tells what is whole",
        )
    return found


def not_next(what: str, name: str, number: int, last: int) -> ValueError:
    """Return the complaint about a number out of turn, which is a fault of the caller."""
    return ValueError(f"{what} {number} of {name!r} must be {last + 1}")
