"""A home whose files were damaged: what comes back is right, or told with a code."""

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.client import Connection
from penstock.errors import SourceError
from tests.e2e.support import results, stream_figures, until

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (n INT) FROM push(sync => true)"


def flip(path: Path, place: int, by: int = 0x20) -> bytes:
    """Flip bits of a byte of a file, and return what was there before."""
    whole = path.read_bytes()
    place %= len(whole)
    path.write_bytes(whole[:place] + bytes([whole[place] ^ by]) + whole[place + 1 :])
    return whole


def test_a_damaged_push_log_holds_its_stream_and_keeps_what_is_there(
    opener: Callable[[], Connection], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with opener() as ps:
        ps.sql(f"{STREAM}; CREATE QUERY q AS SELECT n FROM s INTO files(path => '{out}')")
        for n in range(3):
            ps.push("s", [{"n": n}])
            until(ps, lambda n=n: results(ps, "q").num_rows == n + 1)
    parts = {path.name: path.read_bytes() for path in out.glob("part-*")}
    (log,) = (tmp_path / "home" / "streams").glob("*/*.log")
    for place in (-1, -300, -600, 20):
        whole = flip(log, place)
        damaged = log.read_bytes()
        with opener() as ps:
            until(ps, lambda: stream_figures(ps, "s")["state"] == "FAILED")
            assert "damaged" in stream_figures(ps, "s")["cause"]
            with pytest.raises(SourceError) as raised:
                ps.push("s", [{"n": 7}])
            assert raised.value.hint
        assert log.read_bytes() == damaged
        log.write_bytes(whole)
    log.rename(log.with_suffix(".away"))
    with opener() as ps:
        assert "missing" in stream_figures(ps, "s")["cause"]
    log.with_suffix(".away").rename(log)
    log.write_bytes(log.read_bytes() + b"begun")
    with opener() as ps:
        assert any("never finished" in told for told in ps.warnings)
        ps.push("s", [{"n": 3}])
        until(ps, lambda: len(list(out.glob("part-*"))) == len(parts) + 1)
    assert parts.items() <= {p.name: p.read_bytes() for p in out.glob("part-*")}.items()
