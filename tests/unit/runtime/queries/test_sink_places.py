from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.engine.allowed import Allowed
from penstock.errors import BadOptionError, NotAllowedError
from penstock.model.definitions import Connector, QueryDefinition, StreamDefinition
from penstock.model.schema import Schema
from penstock.runtime.queries.sink_places import SinkPlaces


def places(
    home: Path,
    streams: tuple[StreamDefinition, ...] = (),
    queries: tuple[QueryDefinition, ...] = (),
) -> SinkPlaces:
    """Return places beside a home, streams and queries."""
    directory: Any = SimpleNamespace(
        streams=lambda: [SimpleNamespace(definition=each) for each in streams],
        queries=lambda: [SimpleNamespace(definition=each) for each in queries],
    )
    return SinkPlaces(home, directory, Allowed)


def query(path: str | Path, form: str = "json") -> QueryDefinition:
    options = (("path", str(path)), ("format", form))
    return QueryDefinition("q", "", sink=Connector("files", options))


def stream(path: str | Path, source: str = "files") -> StreamDefinition:
    return StreamDefinition("s", Schema(()), Connector(source, (("path", str(path)),)), None)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("home/state", "home/archive/s", "in/deep/deeper"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("home/state")
    (tmp_path / "way").symlink_to("in")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "path",
    [
        "home",
        "home/state",
        "home/archive/s",
        "home/results/new",
        "home/../home/spill",
        "in/../home/late/x",
        "link",
        "link/below",
        "file:{here}/home/streams",
    ],
)
def test_a_sink_inside_the_home_is_refused(place: Path, path: str) -> None:
    with pytest.raises(BadOptionError):
        places(place / "home").refuse_sink(query(path.format(here=place)))


@pytest.mark.parametrize("path", ["out", "home/mine", "homely/state", "in"])
def test_a_sink_elsewhere_is_not(place: Path, path: str) -> None:
    places(place / "home").refuse_sink(query(path))


@pytest.mark.parametrize("path", ["..", "../out", "/tmp", "out/../../x", "away", "away/x", "~/x"])
def test_a_sink_outside_of_the_working_directory_is_closed(place: Path, path: str) -> None:
    (place / "away").symlink_to(place.parent)
    with pytest.raises(NotAllowedError) as caught:
        places(place / "home").refuse_sink(query(path))
    assert "writable" in caught.value.hint
    everywhere = Allowed(writable=frozenset(["/", "~"]))
    replace(places(place / "home"), allowed=lambda: everywhere).refuse_sink(query(path))


READ = [
    ("in", "in"),
    ("in", "way"),
    ("way", "in/."),
    ("in/*.json", "in"),
    ("in/**/*.json", "in"),
    ("in/**/*.json", "in/deep/deeper"),
    ("in/*/*", "in/deep"),
    ("in/part-00000001.json", "in"),
]
UNREAD = [
    ("in", "in/deep"),
    ("in/*.csv", "in"),
    ("in/*.json", "in/deep"),
    ("in/d*/*.json", "in"),
    ("other", "in"),
    ("hdfs://host/in", "in"),
]


@pytest.mark.parametrize(("source", "sink"), READ)
def test_a_sink_where_a_stream_reads_is_refused_and_so_is_the_stream(
    place: Path, source: str, sink: str
) -> None:
    with pytest.raises(BadOptionError):
        places(place / "home", streams=(stream(source),)).refuse_sink(query(sink))
    with pytest.raises(BadOptionError):
        places(place / "home", queries=(query(sink),)).refuse_source(stream(source))


@pytest.mark.parametrize(("source", "sink"), UNREAD)
def test_what_no_stream_reads_may_be_written(place: Path, source: str, sink: str) -> None:
    places(place / "home", streams=(stream(source),)).refuse_sink(query(sink))
    places(place / "home", queries=(query(sink),)).refuse_source(stream(source))


def test_spark_reads_directories_inside_too(place: Path) -> None:
    with pytest.raises(BadOptionError):
        places(place / "home", streams=(stream("in", "spark"),)).refuse_sink(query("in/deep"))


def test_queries_without_files_are_left_alone(place: Path) -> None:
    bare = QueryDefinition("q", "")
    places(place / "home", streams=(stream("in"),)).refuse_sink(bare)
    places(place / "home", queries=(bare,)).refuse_source(stream("in"))
