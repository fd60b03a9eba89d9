import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadRequestError
from penstock.place.relocation.messages import (
    Adopt,
    Adopted,
    Forget,
    Message,
    Ran,
    Release,
    Released,
    Report,
    Run,
    Save,
    Saved,
    Unknown,
)
from penstock.place.relocation.wire import bundles, read_bundle

NAMES, NUMBERS = st.text(max_size=20), st.integers(0, 2**40)
FIGURES = st.floats(0, 1e12)
TRAINS = st.lists(st.tuples(NAMES, NUMBERS), max_size=3).map(tuple)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(Run, NAMES, NUMBERS, NUMBERS, TRAINS),
    st.builds(Report, NAMES, NUMBERS, *[FIGURES] * 6),
    *[st.builds(kind, NAMES, NUMBERS, NUMBERS) for kind in (Adopt, Adopted, Ran, Saved, Released)],
    *[st.builds(kind, NAMES, NUMBERS) for kind in (Save, Release, Forget, Unknown)],
)


@given(st.lists(MESSAGES, max_size=20), st.integers(1, 2_000))
def test_bundles_hold_all_messages_in_order_and_are_bounded(
    messages: list[Message], most_bytes: int
) -> None:
    found = bundles(messages, most_bytes)
    assert [message for each in found for message in read_bundle(each)] == messages
    for each in found:
        assert len(each) <= most_bytes or len(read_bundle(each)) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"version":1}',
        b'{"version":2,"messages":[]}',
        b'{"version":1,"messages":[["Nada","u",1]]}',
        b'{"version":1,"messages":[["Save","u"]]}',
        b'{"version":1,"messages":[["Save","u",1,2]]}',
        b'{"version":1,"messages":[["Save",1,1]]}',
        b'{"version":1,"messages":[["Save","u",true]]}',
        b'{"version":1,"messages":[["Save","u",1.5]]}',
        b'{"version":1,"messages":[["Run","u",1,1,[["s"]]]]}',
        b'{"version":1,"messages":[["Run","u",1,1,"s"]]}',
        b'{"version":1,"messages":[[]]}',
        b'{"version":1,"messages":[null]}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_what_is_no_bundle_of_this_version_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequestError):
        read_bundle(data)


@given(st.binary(max_size=200))
def test_no_bytes_end_in_another_error(data: bytes) -> None:
    with contextlib.suppress(BadRequestError):
        read_bundle(data)
