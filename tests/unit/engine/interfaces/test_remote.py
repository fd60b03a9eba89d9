"""Files of other storage, over a twin of one: a directory of this machine behind Arrow's files."""

import gzip
import os
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.formats import remote
from penstock.engine.interfaces.formats.lines import after_lines, content, first_line
from penstock.engine.interfaces.formats.listing import FileListing, find, require, stored
from penstock.engine.interfaces.formats.parquet import RowGroups
from penstock.engine.interfaces.formats.remote import RemoteFile, check_remote
from penstock.errors import BadOptionError, NotAllowedError, SourceError

BUCKET = "s3a://bucket/in"


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the directory that stands for the bucket's."""
    twin = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(remote, "_system", lambda *_: twin)
    made = tmp_path / "bucket" / "in"
    made.mkdir(parents=True)
    return made


def both(inside: Path) -> tuple[str, str]:
    return str(inside), BUCKET


def test_a_listing_is_the_same_as_that_of_a_directory(inside: Path, tmp_path: Path) -> None:
    for at, name in enumerate(("b.json", "a.json", ".hidden", "_made", "c.tmp")):
        (inside / name).write_text("{}\n" * at)
        os.utime(inside / name, ns=(10**18 - at * 10**9,) * 2)
    (inside / "below").mkdir()
    found = []
    for number, path in enumerate(both(inside)):
        record = FileListing(tmp_path / f"{number}.jsonl")
        record.look(path, 7.0)
        record.look(path, 8.0)
        again = FileListing(tmp_path / f"{number}.jsonl")
        assert again.entries == record.entries
        found.append([(e.path.name, e.size, e.mtime_ns, e.found) for e in record.entries])
    assert found[0] == found[1]
    assert [name for name, *_ in found[1]] == ["a.json", "b.json"]
    (inside / "below" / "d.json").write_text("{}\n")
    (inside / "_apart").mkdir()
    (inside / "_apart" / "e.json").write_text("{}\n")
    here, there = (find(path, recursive=True) for path in both(inside))
    assert sorted(each.removeprefix(str(inside)) for each in here) == sorted(
        each.removeprefix(BUCKET) for each in there
    )
    assert f"{BUCKET}/below/d.json" in there
    assert find(f"{BUCKET}/a.json") == [f"{BUCKET}/a.json"]
    assert find(f"{BUCKET}/a.json", {f"{BUCKET}/a.json"}) == []


def test_text_is_read_from_anywhere_in_a_file(inside: Path) -> None:
    text = b"".join(b'{"n": %d}\n' % n for n in range(1000))
    (inside / "a.json").write_bytes(text)
    (inside / "a.json.gz").write_bytes(gzip.compress(text))
    for root in both(inside):
        file = stored(f"{root}/a.json")
        assert first_line(file) == b'{"n": 0}'
        place = after_lines(file, 9, len(text), 10)
        assert content(file, 9, place) == text[9:place]
        assert content(file, place, None) == text[place:]
        with pytest.raises(OSError, match="holds less"):
            content(file, 0, len(text) + 1)
        packed = stored(f"{root}/a.json.gz")
        assert first_line(packed) == b'{"n": 0}'
        assert content(packed, 0, None) == text


def test_parquet_is_read_by_rows(inside: Path) -> None:
    table = pa.table({"n": list(range(100))})
    pq.write_table(table, inside / "a.parquet", row_group_size=30)
    groups = RowGroups(RemoteFile(f"{BUCKET}/a.parquet"))
    assert groups.rows == 100
    assert groups.read(25, 65, ["n"]).column(0).to_pylist() == list(range(25, 65))


def test_what_is_gone_is_told_as_one_of_this_machine_is(inside: Path) -> None:
    for root in both(inside):
        with pytest.raises(SourceError):
            require(f"{root}/nothing")
        with pytest.raises(FileNotFoundError):
            stored(f"{root}/nothing").stat()
        with pytest.raises(FileNotFoundError):
            content(stored(f"{root}/nothing"), 0, None)
    require(BUCKET)


def test_what_may_pass_is_no_reason_to_give_a_file_up(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (inside / "a.json").write_text("{}\n")

    down = mock.Mock()
    down.get_file_info.side_effect = down.open_input_file.side_effect = OSError("no network")
    monkeypatch.setattr(remote, "_system", lambda *_: down)
    for act in (
        lambda: require(BUCKET),
        lambda: find(BUCKET),
        lambda: RemoteFile(f"{BUCKET}/a.json").stat(),
        lambda: content(RemoteFile(f"{BUCKET}/a.json"), 0, None),
    ):
        with pytest.raises(SourceError) as told:
            act()
        assert told.value.code == "SOURCE_FAILED"


@pytest.mark.parametrize(
    "uri",
    [
        "http://host/x",
        "ftp://host/x",
        "s3://",
        "s3://key:secret@bucket/x",
        "s3://bucket/x?endpoint_override=elsewhere",
        "s3://bucket/a/../b",
        "s3://bucket//b",
        "s3://bucket/*.json",
        "s3://bucket/x#y",
    ],
)
def test_a_uri_says_where_and_nothing_else(uri: str) -> None:
    with pytest.raises(BadOptionError):
        check_remote(uri)


@pytest.mark.parametrize("uri", ["s3://bucket/a", "s3a://b", "hdfs://host:8020/x", "gs://b/a b"])
def test_places_of_known_storage_are_taken(uri: str) -> None:
    check_remote(uri)


def test_other_storage_is_read_only_where_it_is_named(tmp_path: Path) -> None:
    for allowed in (Allowed(), Allowed(readable=frozenset({"s3://bucket/other", str(tmp_path)}))):
        for uri in (BUCKET, "s3a://bucket/otherwise", "hdfs://bucket/other"):
            with pytest.raises(NotAllowedError):
                allowed.require_readable(uri)
    named = Allowed(readable=frozenset({"s3://bucket/in/"}))
    named.require_readable(BUCKET)
    named.require_readable(f"{BUCKET}/below")
    named.require_readable(str(tmp_path))  # paths of this machine are as free as before
