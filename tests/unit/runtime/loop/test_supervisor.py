"""What the supervisor does about orders to suspend while everything is at work."""

import math
from types import SimpleNamespace
from typing import Any

from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.quality.suspension import Orders


class Quality:
    """Orders somebody to go at the first look, and counts looks."""

    def __init__(self) -> None:
        self.suspending = SimpleNamespace(orders=Orders())
        self.looks = 0

    def look(self, *_: object) -> None:
        self.looks += 1
        self.suspending.orders = Orders({"light": "too much"})


class Topology(SimpleNamespace):
    """One unit that only the light query needs."""

    def pause(self, names: Any) -> None:
        self.paused = frozenset({"unit"} if names else ())


def supervisor(busy: set[str]) -> tuple[Supervisor, Quality, Topology]:
    """Return one whose units are at work as told; no checkpoint is due."""
    quality: Any = Quality()
    live = SimpleNamespace(reader="unit:unit")
    topology: Any = Topology(
        units={"unit": live}, paused=frozenset(), must_cut=False, retired=list, tables=None
    )
    pool: Any = SimpleNamespace(is_busy=busy.__contains__)
    quiescence: Any = SimpleNamespace(
        topology=topology, pool=pool, is_stopping=False, resting=None, is_working=True
    )
    control = SimpleNamespace(wants_other=False)
    cutter: Any = SimpleNamespace(
        control=control, statistics=None, units_of=None, shared_graph=None
    )
    checkpoints: Any = SimpleNamespace(clock=None, due_at=math.inf)
    stages: Any = SimpleNamespace(source_poller=SimpleNamespace(watching=None))
    duties: Any = None
    return Supervisor(quiescence, cutter, checkpoints, stages, quality, duties), quality, topology


def test_who_is_to_go_starts_nothing_more_and_holds_up_nobody_while_its_last_run_lasts() -> None:
    busy = {"unit:unit"}
    mine, quality, topology = supervisor(busy)
    mine._look_at_load(1.0)
    assert topology.paused == {"unit"}
    assert not mine._must_quiesce(1.0)  # the others go on
    busy.clear()
    assert mine._must_quiesce(2.0)
    assert quality.looks == 1


def test_what_is_ordered_is_done_before_anybody_looks_again() -> None:
    mine, quality, _ = supervisor(set())
    for second in range(5):
        mine._look_at_load(float(second))
    assert quality.looks == 1


def test_the_load_is_looked_at_also_while_a_checkpoint_waits_for_what_runs() -> None:
    mine, quality, _ = supervisor(set())
    mine._checkpoints.due_at = 0.0
    assert mine._must_quiesce(1.0)
    mine._look_at_load(1.0)
    assert quality.looks == 1
