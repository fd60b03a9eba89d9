"""However a push with a key dies, repeating it until it is answered takes its rows once."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.database import IN_MEMORY
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.pushed.push import Push
from penstock.errors import BadArgumentError, BadRowError, ClosedError, KeyReusedError
from penstock.model.definitions import Connector, StreamDefinition
from penstock.model.schema import Column, Schema
from penstock.runtime.definitions.keyed_pushes import KeyedPushes
from penstock.runtime.durable.push_keys import KnownPush, PushKeys

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]  # which parses the columns

Death = Literal["", "before the key", "between", "after the rows"]
STREAM = StreamDefinition("s", Schema((Column("id", "bigint"),)), Connector("push"))


class Died(BaseException):
    """Stands for kill -9: nothing that follows is done."""


class DyingPush(Push):
    """A source whose process dies at a moment of its next append."""

    death: Death = ""

    def die(self) -> None:
        """Do nothing more: the file of keys is closed, too."""
        raise Died

    def append(
        self, table: Any, depth: int = 0, intend: Callable[[int], None] | None = None
    ) -> int:
        if self.death == "before the key":
            self.die()

        def noted(position: int) -> None:
            if intend is not None:
                intend(position)
            if self.death == "between":
                self.die()

        position = super().append(table, depth, noted)
        if self.death == "after the rows":
            self.die()
        return position


class Lives:
    """One stream and its keys over several lives of a process."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.clock = HandClock(0.0)
        self.keys = PushKeys(home / "pushes.db", self.clock.now)
        self.source = self._opened()

    def push(self, rows: list[dict[str, int]], key: str, death: Death = "") -> int | None:
        """Return what a client is answered, or None where the process dies."""
        self.source.death = death
        pushes = KeyedPushes(lambda name: (name, self.source), self.keys)
        try:
            return pushes.push("s", rows, key)
        except (Died, ClosedError):
            self._begin_again()
            return None

    def ids(self) -> list[int]:
        """Return all that was ever appended."""
        self._begin_again()
        found = []
        while (offer := self.source.next()) is not None:
            found += self.source.read(offer.boundary).rows["id"].to_pylist()
        return found

    def _die(self) -> None:
        self.keys.close()  # what is done after this in the same life has no effect
        raise Died

    def _begin_again(self) -> None:
        self.source.close()
        self.keys.close()
        self.keys = PushKeys(self._home / "pushes.db", self.clock.now)
        self.source = self._opened()

    def _opened(self) -> DyingPush:
        around = Surroundings(cast("SparkSession", None), self.clock, self._home / "s")
        source = DyingPush(STREAM, around)
        source.on_open = lambda rows: self.keys.settle("s", rows)
        source.die = self._die
        source.open(None)
        return source


DEATHS = st.lists(st.sampled_from(["before the key", "between", "after the rows"]), max_size=3)


@given(st.lists(st.tuples(st.integers(1, 3), DEATHS, st.booleans()), max_size=6))
def test_whatever_dies_each_push_is_taken_once(
    pushes: list[tuple[int, list[Death], bool]],
) -> None:
    with TemporaryDirectory() as home:
        lives, expected = Lives(Path(home)), list[int]()
        for number, (count, deaths, other) in enumerate(pushes):
            rows = [{"id": number * 10 + at} for at in range(count)]
            expected += [row["id"] for row in rows]
            answers = [lives.push(rows, str(number), death) for death in deaths]
            if other:  # somebody without a key pushes before the client is back
                lives.source.death = ""
                lives.source.push([{"id": -1}])
            answers.append(lives.push(rows, str(number)))
            assert answers[-1] in (0, count)
            assert lives.push(rows, str(number)) == 0
        assert sorted(each for each in lives.ids() if each >= 0) == expected


def test_other_rows_under_the_same_key_are_refused() -> None:
    with TemporaryDirectory() as home:
        lives = Lives(Path(home))
        pushes = KeyedPushes(lambda name: (name, lives.source), lives.keys)
        assert pushes.push("s", [{"id": 1}], "k", b"one") == 1
        assert pushes.push("s", [{"id": 1}], "k", b"one") == 0
        assert pushes.push("s", [{"id": 1}], "k") == 0
        for rows, fingerprint in (([{"id": 2}], b"two"), ([{"id": 1}, {"id": 2}], b"")):
            with pytest.raises(KeyReusedError):
                pushes.push("s", rows, "k", fingerprint)
        with pytest.raises(BadRowError):
            pushes.push("s", [{"id": "x"}], "new")
        assert pushes.push("s", [{"id": 3}], "new") == 1
        for key in ("", "x" * 513):
            with pytest.raises(BadArgumentError):
                pushes.push("s", [{"id": 1}], key)


def test_a_push_that_fails_leaves_no_key_behind() -> None:
    with TemporaryDirectory() as home:
        lives = Lives(Path(home))
        assert lives.push([{"id": 1}], "a") == 1
        lives.source.end()
        with pytest.raises(BadRowError):
            lives.push([{"id": 2}], "b")
        assert lives.keys.find("s", "b") is None
        assert lives.push([{"id": 1}], "a") == 0  # what came before the end is known


def test_keys_are_the_streams_own_and_go_with_it_or_with_time() -> None:
    clock = HandClock(0.0)
    keys = PushKeys(IN_MEMORY, clock.now, keep_seconds=100)
    push = KnownPush(1, b"")
    for stream in ("a", "b"):
        keys.put(stream, "k", 0, push, to_disk=False)
    assert keys.find("a", "k") == push
    keys.forget_stream("a")
    assert (keys.find("a", "k"), keys.find("b", "k")) == (None, push)
    for number in range(1001):  # the next look at old ones
        clock.sleep(0.2)
        keys.put("b", str(number), number, push, to_disk=False)
    assert keys.find("b", "k") is None
    assert keys.find("b", "1000") == push
