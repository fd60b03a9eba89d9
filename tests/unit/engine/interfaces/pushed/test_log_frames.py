import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.interfaces.pushed.log_frames import (
    LEAST,
    RECORD,
    framed,
    gap,
    next_whole,
    walked,
    whole_body,
)

BODY = memoryview(pa.record_batch([[1, 2, 3]], ["n"]).serialize())
FRAME = framed(RECORD.pack(0.0, 3) + bytes(BODY))


@pytest.mark.parametrize("size", [*range(LEAST, LEAST + 40), 5000])
def test_a_gap_is_a_whole_frame_of_its_size_that_is_found_behind_damage(size: int) -> None:
    frame = gap(size)
    assert len(frame) == size
    found = walked(memoryview(FRAME + frame + FRAME), 0)
    assert (found.rows, found.gaps, found.rest) == (6, True, "nothing")
    assert next_whole(memoryview(b"?" * 30 + frame), 0) == 30


@given(junk=st.binary(max_size=200), size=st.integers(30, 300), behind=st.binary(max_size=50))
def test_a_whole_frame_is_found_wherever_it_is(junk: bytes, size: int, behind: bytes) -> None:
    data = memoryview(b"?" + junk + FRAME + behind)
    found = next_whole(data, 0, look_bytes=size)
    brute = next(at for at in range(1, len(data)) if whole_body(data, at) is not None)
    assert found is not None
    assert found <= 1 + len(junk)
    assert found >= brute


@given(st.binary(max_size=100))
def test_where_no_frame_is_none_is_found(junk: bytes) -> None:
    wholes = [at for at in range(1, len(junk)) if whole_body(memoryview(junk), at) is not None]
    if not wholes:
        assert next_whole(memoryview(junk), 0) is None
