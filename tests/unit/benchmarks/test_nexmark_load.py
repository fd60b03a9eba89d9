"""The auction house of the Nexmark benchmark: proportions, references, disorder."""

from datetime import timedelta
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from benchmarks.nexmark_load import (
    CATEGORIES,
    DISORDER,
    LAST_ID,
    SLACK_SECONDS,
    STREAMS,
    Load,
    write_load,
)

EVENTS, BATCHES = 5_000, 4
Streams = dict[str, list[pa.Table]]


def files_of(load: Load) -> Streams:
    write_load(load)
    return {
        name: [pq.read_table(file) for file in sorted((load.path / name).iterdir())]
        for name in STREAMS
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Streams:
    return files_of(Load(tmp_path_factory.mktemp("nexmark") / "load", EVENTS, BATCHES))


def whole(files: Streams, name: str) -> pa.Table:
    """Return all of a stream but the farewell."""
    return pa.concat_tables(files[name][:-1])


def test_of_fifty_events_one_is_a_person_three_are_auctions_the_rest_bids(files: Streams) -> None:
    rows = {name: {table.num_rows for table in files[name][:-1]} for name in STREAMS}
    assert rows == {"person": {100}, "auction": {300}, "bid": {4_600}}


def test_people_and_auctions_are_numbered_without_a_gap(files: Streams) -> None:
    for name in ("person", "auction"):
        ids = whole(files, name)["id"].to_pylist()
        assert ids == list(range(1_000, 1_000 + len(ids)))


def test_everybody_and_everything_referred_to_is_there(files: Streams) -> None:
    people, auctions = whole(files, "person")["id"], whole(files, "auction")["id"]
    bids = whole(files, "bid")
    assert pc.all(pc.is_in(whole(files, "auction")["seller"], people)).as_py()
    assert pc.all(pc.is_in(bids["bidder"], people)).as_py()
    assert pc.all(pc.is_in(bids["auction"], auctions)).as_py()


def test_most_bids_fall_into_the_life_of_their_auction(files: Streams) -> None:
    auctions = whole(files, "auction").select(["id", "date_time", "expires"])
    auctions = auctions.rename_columns(["id", "opened", "expires"])
    bids = whole(files, "bid").join(auctions, "auction", "id", join_type="inner")
    after = pc.greater_equal(bids["date_time"], bids["opened"])
    before = pc.less_equal(bids["date_time"], bids["expires"])
    assert pc.mean(pc.and_(after, before).cast(pa.int8())).as_py() > 0.5


def test_half_of_the_bids_go_to_hot_auctions(files: Streams) -> None:
    counts = whole(files, "bid")["auction"].value_counts().to_pylist()
    most = sorted((each["counts"] for each in counts), reverse=True)
    assert sum(most[:24]) > 0.45 * sum(most)  # one in fifty of 1,200


def test_prices_are_even_on_a_logarithmic_scale(files: Streams) -> None:
    prices = whole(files, "bid")["price"]
    digits = pc.floor(pc.log10(prices)).value_counts().to_pylist()
    shares = [each["counts"] / len(prices) for each in digits]
    assert len(shares) == 6
    assert all(0.14 < share < 0.19 for share in shares)


def test_categories_and_states_are_those_that_queries_ask_for(files: Streams) -> None:
    categories = set(whole(files, "auction")["category"].to_pylist())
    assert categories == set(CATEGORIES)
    assert {"or", "id", "ca"} < set(whole(files, "person")["state"].to_pylist())


def test_no_event_is_older_than_the_latest_by_the_slack(files: Streams) -> None:
    bound = timedelta(microseconds=DISORDER)
    assert bound < timedelta(seconds=SLACK_SECONDS)
    for name in STREAMS:
        times = whole(files, name)["date_time"].to_pylist()
        for at, latest in zip(times, accumulate(times, max), strict=True):
            assert at > latest - bound


def test_the_last_batch_is_one_event_a_stream_that_refers_to_nobody(files: Streams) -> None:
    last = {name: tables[-1].to_pylist() for name, tables in files.items()}
    assert [len(rows) for rows in last.values()] == [1, 1, 1]
    assert last["person"][0]["id"] == last["auction"][0]["id"] == LAST_ID
    for name, column in (("auction", "seller"), ("bid", "auction"), ("bid", "bidder")):
        assert last[name][0][column] == LAST_ID - 1
    for name in STREAMS:
        latest = pc.max(whole(files, name)["date_time"]).as_py()
        assert last[name][0]["date_time"] - latest > timedelta(minutes=30)


def test_one_seed_gives_one_load(files: Streams, tmp_path: Path) -> None:
    again = files_of(Load(tmp_path / "load", EVENTS, BATCHES))
    assert again == files
    other = files_of(Load(tmp_path / "other", EVENTS, BATCHES, seed=12))
    assert other["bid"] != files["bid"]
