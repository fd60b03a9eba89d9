"""The laws of sink_laws.py, over every repeatable sink that needs no server."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from penstock.engine.connectors.sinks import SINKS
from penstock.model.definitions import Connector, QueryDefinition
from tests.contracts.sink_laws import SINK_LAWS, SinkCase

# Their laws are kept in tests of their own, which start the servers that they write to.
ELSEWHERE = {
    "delta": "engine/delta/test_delta.py",
    "kafka": "engine/kafka/test_sink.py",
    "postgres": "engine/postgres/test_sink.py",
}
# Those of servers are killed all the same, in their own tests: nothing is missing then.
NOT_REPEATABLE = {"console", "http", "mqtt"}


def files(directory: Path, kind: str) -> SinkCase:
    def definition(place: int) -> QueryDefinition:
        options = (("path", str(directory / str(place))), ("format", kind))
        return QueryDefinition("q", "SELECT 1", sink=Connector("files", options))

    def look(place: int) -> object:
        parts = sorted((directory / str(place)).glob("part-*"))
        names = [part.name for part in parts]
        assert len(list((directory / str(place)).iterdir())) == len(parts) + 1  # and its owner
        return names, ds.dataset(list(map(str, parts)), format=kind).to_table().to_pylist()

    return SinkCase(definition, look)


@pytest.mark.parametrize("law", SINK_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_files_keep(law: Callable[[SinkCase, Path], None], kind: str, tmp_path: Path) -> None:
    law(files(tmp_path, kind), tmp_path)


def test_every_sink_is_killed_somewhere() -> None:
    assert {"files"} | NOT_REPEATABLE | ELSEWHERE.keys() == set(SINKS)
    assert all((Path(__file__).parents[1] / place).is_file() for place in ELSEWHERE.values())
