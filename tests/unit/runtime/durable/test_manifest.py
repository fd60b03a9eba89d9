"""Manifests come back from JSON as they were, and what is no manifest is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import HomeFormatError
from penstock.model.trains import TrainInfo
from penstock.runtime.durable.manifest import (
    BufferRecord,
    FinishedRecord,
    Manifest,
    PartRecord,
    QueryRecord,
    SourceRecord,
    StateRecord,
    SuspendedRecord,
    TrainRecord,
    TriggerRecord,
    UnitRecord,
)

NAMES, NUMBERS = st.text(max_size=8), st.integers(-(2**62), 2**62)
SECONDS = st.floats(allow_nan=False, allow_infinity=False)
DATA = st.dictionaries(NAMES, st.none() | st.booleans() | NUMBERS | NAMES, max_size=3)


def records(kind: type, **fields: Any) -> st.SearchStrategy[Any]:
    return st.dictionaries(NAMES, st.builds(kind, **fields), max_size=2)


COUNTS = st.dictionaries(NAMES, NUMBERS, max_size=3)
PARTS = st.builds(PartRecord, file=NAMES, rows=NUMBERS, facts=DATA)
TRAINS = st.builds(TrainRecord, info=st.builds(TrainInfo, NUMBERS, NUMBERS, NUMBERS, SECONDS))
MANIFESTS = st.builds(
    Manifest,
    source_readers=records(SourceRecord, boundary=st.none() | DATA, slack=st.none() | DATA),
    buffers=records(BufferRecord, readers=COUNTS, trains=st.lists(TRAINS, max_size=2).map(tuple)),
    units=records(
        UnitRecord,
        marks=COUNTS,
        idle=st.lists(NAMES, max_size=2).map(tuple),
        reached=st.lists(NUMBERS, max_size=2).map(tuple),
        late_rows=COUNTS,
        rows_before=COUNTS,
        members=COUNTS,
        history=st.dictionaries(NAMES, st.lists(PARTS, max_size=2).map(tuple), max_size=2),
        state=st.none()
        | st.builds(StateRecord, facts=DATA, parts=st.lists(PARTS, max_size=2).map(tuple)),
    ),
    queries=records(QueryRecord, deadline=st.none() | SECONDS),
    suspended=records(
        SuspendedRecord, away=st.none() | st.tuples(SECONDS, COUNTS), deadline=st.none() | SECONDS
    ),
    finished=records(FinishedRecord),
    trigger_batches=records(TriggerRecord, rules=COUNTS),
    tables=DATA,
    statistics=DATA,
    control=DATA,
    unbundled=st.lists(NAMES, max_size=2).map(tuple),
    files=st.dictionaries(NAMES, st.tuples(NUMBERS, NUMBERS), max_size=2),
    format=st.just(1),
)


@given(MANIFESTS)
def test_a_manifest_comes_back_as_it_was(manifest: Manifest) -> None:
    assert Manifest.from_json(json.loads(json.dumps(manifest.to_json()))) == manifest


def test_only_rows_in_several_files_make_a_manifest_of_the_second_format() -> None:
    info = TrainInfo(1, 2, 3, 0.0)
    for file, written in (("", 1), ("a.parquet", 1), ("a.parquet/b.parquet", 2)):
        buffer = BufferRecord(1, 0, None, False, {}, (TrainRecord(info, file),))
        manifest = Manifest(buffers={"s": buffer})
        assert manifest.to_json()["format"] == written
        assert list(manifest.names) == ([] if not file else file.split("/"))


def test_a_manifest_of_another_format_is_refused() -> None:
    with pytest.raises(HomeFormatError):
        Manifest.from_json({**Manifest().to_json(), "format": 99})
    with pytest.raises(HomeFormatError):
        Manifest.from_json({"feeds": {}})


@pytest.mark.parametrize(
    "change",
    [
        {"unknown": 1},
        {"apart": 3},
        {"queries": {"q": {"root": 5}}},
        {"finished": {"q": {"rows_in": "1", "late_rows": 0}}},
        {"finished": {"q": {"rows_in": 1}}},
    ],
)
def test_what_is_no_manifest_is_refused_whole(change: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Manifest.from_json({**Manifest().to_json(), **change})
