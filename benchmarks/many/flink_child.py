"""Flink SQL in a process and an environment of its own: a statement set on a local cluster.

It imports PyFlink and nothing of the project but the talk with its parent.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pyflink.common import Configuration  # type: ignore[import-not-found]
from pyflink.table import (  # type: ignore[import-not-found]
    EnvironmentSettings,
    StatementSet,
    TableEnvironment,
)

from benchmarks.many.serving import Handler, serve


def run(
    settings: Mapping[str, str], tables: Sequence[str], inserts: Sequence[str]
) -> dict[str, Any]:
    """Run a statement set over bounded input; say how long planning and the job itself took."""
    began = time.time()
    client = _statements(settings, tables, inserts).execute().get_job_client()
    stood = time.time()
    done = client.get_job_execution_result().result()
    return {
        "stood_seconds": stood - began,
        "job_seconds": done.get_net_runtime() / 1000,
        "interval": [stood, time.time()],
    }


def explain(
    settings: Mapping[str, str], tables: Sequence[str], inserts: Sequence[str]
) -> dict[str, Any]:
    """Return the plan of a statement set."""
    return {"plan": _statements(settings, tables, inserts).explain()}


def _statements(
    settings: Mapping[str, str], tables: Sequence[str], inserts: Sequence[str]
) -> StatementSet:
    configuration = Configuration()
    for name, value in settings.items():
        configuration.set_string(name, value)
    builder = EnvironmentSettings.new_instance().in_streaming_mode()
    environment = TableEnvironment.create(builder.with_configuration(configuration).build())
    for statement in tables:
        environment.execute_sql(statement)
    statements = environment.create_statement_set()
    for statement in inserts:
        statements.add_insert_sql(statement)
    return statements


def opened() -> dict[str, Handler]:
    """Return what can be asked."""
    return {"run": run, "explain": explain}


if __name__ == "__main__":
    serve(opened)
