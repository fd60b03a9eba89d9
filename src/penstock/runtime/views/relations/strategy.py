"""SHOW STRATEGY: what decides, and what deciding costs."""

from typing import Any

import pyarrow as pa

from penstock.runtime.system.system import System

STRATEGY_COLUMNS = pa.schema(
    [
        ("strategy", pa.string()),
        ("batching", pa.string()),
        ("slots", pa.int64()),
        ("units", pa.int64()),
        ("ready", pa.int64()),
        ("deciding_s", pa.float64()),
        ("busy_s", pa.float64()),
        ("profiling_s", pa.float64()),
        ("defects", pa.int64()),
        ("last_defect", pa.string()),
    ]
)


def strategy_rows(system: System) -> list[dict[str, Any]]:
    """Return the one row of SHOW STRATEGY."""
    with system.supervisor.resting():
        control, dispatcher = system.supervisor.control, system.supervisor.control.dispatcher
        return [
            {
                "strategy": control.text(),
                "batching": control.batching.text(),
                "slots": system.supervisor.slots,
                "units": len(system.topology.units),
                "ready": len(dispatcher.run_queue.look(system.clock.now())),
                "deciding_s": round(dispatcher.deciding_seconds, 3),
                "busy_s": round(dispatcher.statistics.busy_seconds, 3),
                "profiling_s": round(dispatcher.statistics.profiled_seconds, 3),
                "defects": control.told,
                "last_defect": control.defects[-1] if control.defects else "",
            }
        ]
