from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import WireError
from penstock.server.pg.wire import messages
from penstock.server.pg.wire.messages import FROM_CLIENT, Message, read_startup

NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
UINT32 = st.integers(0, 2**32 - 1)
VALUES = st.none() | st.binary(max_size=12)
LETTERS = st.sampled_from("SPITE")
FIELDS = st.lists(st.tuples(st.sampled_from("SVCMHPR"), NAMES), max_size=4).map(tuple)
COLUMN = st.tuples(NAMES, UINT32, INT16, UINT32, INT16, INT32, INT16)


def _list(each: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(each, max_size=4).map(tuple)


MADE: dict[type[Message], tuple[st.SearchStrategy[Any], ...]] = {
    messages.Query: (NAMES,),
    messages.Parse: (NAMES, NAMES, _list(UINT32)),
    messages.Bind: (NAMES, NAMES, _list(INT16), _list(VALUES), _list(INT16)),
    messages.Describe: (LETTERS, NAMES),
    messages.Execute: (NAMES, INT32),
    messages.Close: (LETTERS, NAMES),
    messages.Password: (NAMES,),
    messages.CopyFail: (NAMES,),
    messages.Sync: (),
    messages.Flush: (),
    messages.Terminate: (),
    messages.CopyData: (st.binary(max_size=20),),
    messages.CopyDone: (),
    messages.AuthenticationOk: (),
    messages.AskPassword: (),
    messages.NegotiateVersion: (INT32, _list(NAMES)),
    messages.ParameterStatus: (NAMES, NAMES),
    messages.BackendKey: (UINT32, UINT32),
    messages.ReadyForQuery: (LETTERS,),
    messages.RowDescription: (_list(COLUMN),),
    messages.DataRow: (_list(VALUES),),
    messages.CommandComplete: (NAMES,),
    messages.ErrorResponse: (FIELDS,),
    messages.NoticeResponse: (FIELDS,),
    messages.ParameterDescription: (_list(UINT32),),
    messages.CopyOutResponse: (st.integers(0, 1), _list(INT16)),
    messages.ParseComplete: (),
    messages.BindComplete: (),
    messages.CloseComplete: (),
    messages.NoData: (),
    messages.EmptyQuery: (),
    messages.PortalSuspended: (),
}
ANY = st.one_of([st.builds(kind, *parts) for kind, parts in MADE.items()])


def test_every_message_is_looked_at() -> None:
    kinds = (each for each in vars(messages).values() if isinstance(each, type))
    assert set(MADE) == {each for each in kinds if issubclass(each, Message)} - {Message}


@given(ANY)
def test_a_message_is_read_as_it_was_written(message: Message) -> None:
    data = message.encoded()
    assert data[0:1] == message.letter.encode()
    assert int.from_bytes(data[1:5], "big") == len(data) - 1
    assert type(message).decoded(data[5:]) == message


@given(st.sampled_from(sorted(FROM_CLIENT)), st.binary(max_size=40))
def test_whatever_comes_is_a_message_or_refused(letter: str, body: bytes) -> None:
    try:
        message = FROM_CLIENT[letter].decoded(body)
    except WireError as error:
        assert error.state == "08P01"  # noqa: PT017  (only what is refused has an error)
    else:
        assert type(message).decoded(message.body()) == message


@given(st.dictionaries(NAMES.filter(bool), NAMES, max_size=4))
def test_a_startup_message_gives_its_parameters(parameters: dict[str, str]) -> None:
    pairs = "".join(f"{name}\0{value}\0" for name, value in parameters.items())
    assert read_startup(pairs.encode() + b"\0") == parameters


@pytest.mark.parametrize("body", [b"user", b"user\0", b"user\0me\0", b"\xff\0x\0\0"])
def test_a_broken_startup_message_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        read_startup(body)
