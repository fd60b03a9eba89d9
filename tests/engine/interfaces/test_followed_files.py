"""Files that grow and files that are done with: brute force over what was written."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.clock import HandClock
from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.files import FILES
from penstock.engine.interfaces.interface import Boundary, Interface, Surroundings
from penstock.errors import BadOptionError, NotAllowedError, SourceError
from penstock.model.definitions import Connector, Option, StreamDefinition
from penstock.model.schema import Column, Schema
from tests.contracts.source_laws import (
    FRESH_SOURCE_LAWS,
    ROWS,
    SOURCE_LAWS,
    Case,
    Source,
    connector,
    drained_of,
    source_of,
)

pytestmark = pytest.mark.spark

LINES = Schema((Column("line", "string"),))
NUMBERS = Schema((Column("n", "int"),))
Make = Callable[..., Interface]


@pytest.fixture
def make(tmp_path: Path, spark: SparkSession) -> Make:
    """Make closed interfaces on one home, over the directory `in`."""
    (tmp_path / "in").mkdir()
    allowed = Allowed(writable=frozenset({str(tmp_path)}))

    def made(schema: Schema = LINES, allowed: Allowed = allowed, **options: Option) -> Interface:
        given: dict[str, Option] = {"path": str(tmp_path / "in"), "format": "text"}
        source = Connector("files", tuple((given | options).items()))
        definition = StreamDefinition("s", schema, source)
        FILES.check(definition)
        around = Surroundings(spark, HandClock(7.0), tmp_path / "home", lambda: allowed)
        return FILES(definition, around)

    return made


def add(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def lines_of(source: Interface, boundary: Boundary) -> list[object]:
    ingest = source.read(json.loads(json.dumps(boundary)))
    assert ingest.rejects is None
    return [next(iter(row.values())) for row in ingest.rows.to_pylist()]  # type: ignore[union-attr]


def taken(source: Interface) -> list[object]:
    found: list[object] = []
    while (offer := source.next()) is not None:
        found += lines_of(source, offer.boundary)
    return found


def growing(place: Path) -> Case:
    (place / "in").mkdir()

    def feed(_: Interface) -> None:
        for at in range(0, 12, 2):
            for row in ROWS[at : at + 2]:
                add(
                    place / "in" / f"{at % 4}.json",
                    json.dumps({**row, "ts": str(row["ts"])}) + "\n",
                )

    options: dict[str, Option] = {"path": str(place / "in"), "format": "json", "tail": True}
    return Case(lambda _: connector("files", **options), feed, ends=False)


def test_followed_files_keep_the_laws_of_what_was_drained(
    tmp_path: Path, spark: SparkSession
) -> None:
    case = growing(tmp_path)
    source = source_of(case, tmp_path, spark)
    with source.fresh() as interface:
        case.feed(interface)
    drained = drained_of(source_of(Case(case.connector, ends=False), tmp_path, spark), spark)
    for law in SOURCE_LAWS[1:]:  # they may all come in one train
        law(drained)


@pytest.mark.parametrize("law", FRESH_SOURCE_LAWS, ids=lambda law: law.__name__)
def test_fresh_followed_files_keep(
    law: Callable[[Source], None], tmp_path: Path, spark: SparkSession
) -> None:
    law(source_of(growing(tmp_path), tmp_path, spark))


def test_any_way_of_writing_and_of_restarting_gives_every_line_once(
    make: Make, tmp_path: Path
) -> None:
    chance, found, after = random.Random(7), [], None
    text = {name: "".join(f"{name} {n} {'x' * (n % 50)}\n" for n in range(60)) for name in "abc"}
    written = dict.fromkeys(text, 0)
    while any(written[name] < len(text[name]) for name in text):
        source = make(tail=True)
        source.open(after)
        for _ in range(chance.randrange(1, 6)):
            name = chance.choice("abc")
            upto = written[name] + chance.randrange(1, 300)
            add(tmp_path / "in" / name, text[name][written[name] : upto])
            written[name] = min(upto, len(text[name]))
            if (offer := source.next()) is not None:
                after = offer.boundary
                found += lines_of(source, after)
        source.close()
    source = make(tail=True)
    source.open(after)
    found += taken(source)
    for name, whole in text.items():
        assert [each for each in found if str(each).startswith(name)] == whole.splitlines()


def test_the_last_line_waits_for_its_end(make: Make, tmp_path: Path) -> None:
    source = make(NUMBERS, format="csv", tail=True, header=True)
    source.open(None)
    add(tmp_path / "in" / "a", "n")
    assert source.next() is None
    add(tmp_path / "in" / "a", "\n1\n2")
    assert taken(source) == [1]
    add(tmp_path / "in" / "a", "3\n")
    assert taken(source) == [23]


@pytest.mark.parametrize("now", ["", "other\n", "other lines, and more than there were\n" * 3])
def test_a_file_that_was_cut_short_or_replaced_is_told_by_name(
    now: str, make: Make, tmp_path: Path
) -> None:
    file = tmp_path / "in" / "app.log"
    add(file, "one\ntwo\nthree\n")
    source = make(tail=True)
    source.open(None)
    offer = source.next()
    assert offer is not None
    file.write_text(now)
    with pytest.raises(SourceError, match=r"app\.log"):
        source.read(offer.boundary)
    with pytest.raises(SourceError, match=r"app\.log"):
        source.next()
    file.write_text("one\ntwo\nthree\nfour\n")  # it is put back
    assert taken(source) == ["four"]


def test_a_file_that_is_gone_holds_nobody(make: Make, tmp_path: Path) -> None:
    for name in "ab":
        add(tmp_path / "in" / name, f"{name}\n")
    source = make(tail=True)
    source.open(None)
    assert taken(source) == ["a", "b"]
    (tmp_path / "in" / "a").unlink()
    add(tmp_path / "in" / "b", "more\n")
    assert taken(source) == ["more"]


def test_directories_below_are_looked_into_where_that_is_wanted(make: Make, tmp_path: Path) -> None:
    for name in ("1", "x/2", "x/y/3", ".hidden/4", "x/_old/5", "x/6.tmp"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        add(path, f"{name}\n")
    source = make(recursive=True)
    source.open(None)
    assert set(taken(source)) == {"1", "x/2", "x/y/3"}
    flat = make()
    flat.close()


def test_text_is_a_line_a_row_and_nothing_but_one_column(make: Make, tmp_path: Path) -> None:
    add(tmp_path / "in" / "a", 'a "quoted", line\n{"x": 1}\n')
    source = make()
    source.open(None)
    assert taken(source) == ['a "quoted", line', '{"x": 1}']
    with pytest.raises(BadOptionError):
        make(NUMBERS)


@pytest.mark.parametrize("what", ["move", "delete"])
def test_files_are_taken_away_once_nothing_needs_them(
    what: str, make: Make, tmp_path: Path
) -> None:
    where, done = tmp_path / "in", tmp_path / "done"
    options: dict[str, Option] = {"after": what, "files_per_train": 2}
    options |= {"move_to": str(done)} if what == "move" else {}
    for n in range(5):
        add(where / f"{n}.txt", f"{n}\n")
    done.mkdir()
    add(done / "1.txt", "somebody else's\n")
    source = make(**options)
    source.open(None)
    offers = [offer.boundary for offer in iter(source.next, None)]
    assert [lines_of(source, each) for each in offers] == [["0", "1"], ["2", "3"], ["4"]]
    source.commit(offers[0])
    assert sorted(path.name for path in where.iterdir()) == ["2.txt", "3.txt", "4.txt"]
    source.close()
    source = make(**options)
    source.open(offers[0])
    assert lines_of(source, offers[1]) == ["2", "3"]
    source.commit(offers[1])
    source.commit(offers[1])
    assert [path.name for path in where.iterdir()] == ["4.txt"]
    moved = {path.name: path.read_text() for path in done.iterdir()}
    expected = {f"{n}.txt": f"{n}\n" for n in (0, 2, 3)} | {"1-1.txt": "1\n"}
    ours = {"1.txt": "somebody else's\n"}
    assert moved == (ours | expected if what == "move" else ours)


def test_a_file_that_cannot_be_taken_away_is_told(make: Make, tmp_path: Path) -> None:
    (tmp_path / "done").write_text("a file where a directory should be")
    add(tmp_path / "in" / "a", "a\n")
    source = make(after="move", move_to=str(tmp_path / "done"))
    source.open(None)
    offer = source.next()
    assert offer is not None
    source.commit(offer.boundary)
    with pytest.raises(SourceError, match="taken away"):
        source.next()
    (tmp_path / "done").unlink()
    source.commit(offer.boundary)
    assert source.next() is None
    assert (tmp_path / "done" / "a").exists()


def test_only_directories_that_may_be_written_lose_files(make: Make) -> None:
    source = make(allowed=Allowed(), after="delete")
    with pytest.raises(NotAllowedError):
        source.open(None)


@pytest.mark.parametrize(
    "options",
    [
        {"tail": True, "format": "parquet"},
        {"tail": True, "bounded": True},
        {"tail": True, "rows_per_train": 3},
        {"tail": True, "after": "delete"},
        {"after": "move"},
        {"after": "leave", "move_to": "done"},
        {"after": "move", "move_to": "in"},
        {"after": "move", "move_to": "in/done", "recursive": True},
    ],
)
def test_options_that_contradict_each_other_are_told(
    options: dict[str, Option], make: Make, tmp_path: Path
) -> None:
    if "move_to" in options:
        options = {**options, "move_to": str(tmp_path / str(options["move_to"]))}
    with pytest.raises(BadOptionError):
        make(**options)
