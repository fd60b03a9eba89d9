"""`system.strategy`: what decides, and what deciding costs."""

from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.views.view import Row, View, columns


def strategy_rows(supervisor: Supervisor, now: float) -> list[Row]:
    """Return one row."""
    with supervisor.resting():
        control, dispatcher = supervisor.control, supervisor.control.dispatcher
        return [
            {
                "strategy": control.text(),
                "batching": control.batching.text(),
                "slots": supervisor.slots,
                "units": len(supervisor.topology.units),
                "ready": len(dispatcher.run_queue.look(now)),
                "deciding_s": round(dispatcher.deciding_seconds, 3),
                "busy_s": round(dispatcher.statistics.busy_seconds, 3),
                "profiling_s": round(dispatcher.statistics.profiled_seconds, 3),
                "defects": control.told,
                "last_defect": control.defects[-1] if control.defects else "",
            }
        ]


STRATEGY = View(
    "strategy",
    "the strategy that decides, and what deciding costs",
    columns(
        "strategy STRING, batching STRING, slots BIGINT, units BIGINT, ready BIGINT, "
        "deciding_s DOUBLE, busy_s DOUBLE, profiling_s DOUBLE, defects BIGINT, last_defect STRING"
    ),
    lambda of: strategy_rows(of.supervisor, of.clock.now()),
)
