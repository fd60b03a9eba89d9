"""A driver on a cluster that looks at its workers, and follows them as they come and go."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark import SparkContext

import penstock
from penstock.engine.spark.application.shipped_package import ship
from penstock.engine.spark.application.workers_check import look_at_workers
from penstock.errors import PenstockError
from tests.e2e.child import say


def main(told: dict[str, Any]) -> None:
    """Say what becomes of each check, and the slots whenever they change."""
    with penstock.connect(told["home"], master=told["master"]) as ps:
        context = ps.system.sessions.large.sparkContext
        say("origin", context.parallelize([0], 1).map(origin_of()).first())
        say("unseen", code(context, Path("/proc/self/cwd")))  # each process has another
        say("unlike", code_of_another_python(context))
        say("whole", code(context, Path(told["home"]) / "spill"))
        slots = 0
        while not Path(told["enough"]).exists():
            if (found := ps.system.supervisor.slots) != slots:
                slots = found
                say("slots", slots)
            time.sleep(0.05)
    say("done")


def origin_of() -> Any:
    """Return what tells where a worker has Penstock from."""

    def origin(_: int) -> str:
        import penstock  # noqa: PLC0415  (in the worker)

        return str(penstock.__file__)

    return origin


def code(context: SparkContext, shared: Path) -> str:
    """Return the code of what is wrong with the workers."""
    try:
        look_at_workers(context, ship(context), shared)
    except PenstockError as error:
        return error.code
    return "NOTHING"


def code_of_another_python(context: SparkContext) -> str:
    """Return the code where the driver has a Python that the workers do not have."""
    kept = context.pythonVer
    context.pythonVer = "3.3"
    try:
        return code(context, Path("/"))
    finally:
        context.pythonVer = kept


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
