import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError, NameTakenError, PenstockError, UnknownNameError
from penstock.server.access.caller import Role
from penstock.server.access.tokens import (
    TokenFile,
    checked_name,
    find,
    hash_of,
    new_token,
    token_from,
)


def test_a_secret_is_found_by_itself_alone_and_is_kept_nowhere() -> None:
    made = [new_token(f"t{number}", Role.READ, None) for number in range(5)]
    tokens = [token for _, token in made]
    assert [find(secret, tokens) for secret, _ in made] == tokens
    assert find("pst_something", tokens) is None
    assert find(tokens[0].sha256, tokens) is None  # who reads the file has no token
    assert not any(secret in json.dumps(token.entry()) for secret, token in made)


@given(st.text(), st.text())
def test_only_the_same_secret_has_the_same_hash(one: str, other: str) -> None:
    assert (hash_of(one) == hash_of(other)) == (one == other)


@pytest.mark.parametrize("streams", [None, [], ["Trades", "news"]])
def test_a_token_comes_back_from_its_file_as_it_was(
    tmp_path: Path, streams: list[str] | None
) -> None:
    _, token = new_token("ada", Role.WRITE, streams)
    TokenFile(tmp_path).add(token)
    assert TokenFile(tmp_path).tokens() == (token,)
    assert token.caller.streams == (None if streams is None else {s.lower() for s in streams})
    assert stat.S_IMODE((tmp_path / "tokens.json").stat().st_mode) == 0o600


def test_a_file_that_others_change_is_read_again(tmp_path: Path) -> None:
    served, typed = TokenFile(tmp_path), TokenFile(tmp_path)
    assert served.tokens() == ()
    _, ada = new_token("ada", Role.READ, None)
    _, bob = new_token("bob", Role.ADMIN, None)
    typed.add(ada)
    typed.add(bob)
    assert served.tokens() == (ada, bob)
    typed.revoke("ada")
    assert served.tokens() == (bob,)


def test_a_name_is_taken_once_and_revoked_once(tmp_path: Path) -> None:
    file = TokenFile(tmp_path)
    _, token = new_token("ada", Role.READ, None)
    file.add(token)
    with pytest.raises(NameTakenError):
        file.add(token)
    file.revoke("ada")
    with pytest.raises(UnknownNameError):
        file.revoke("ada")


@pytest.mark.parametrize("name", ["", "-a", "a b", "x" * 65, "ä", "local", "LOCAL", "a\n", "a/b"])
def test_nobody_is_called_what_could_be_taken_for_something_else(name: str) -> None:
    with pytest.raises(ConfigurationError):
        checked_name(name)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {"sha256": "0" * 64},
        {"sha256": "0" * 64, "role": "root"},
        {"sha256": "0" * 63, "role": "read"},
        {"sha256": 7, "role": "read"},
        {"sha256": "0" * 64, "role": "read", "streams": "trades"},
        {"sha256": "0" * 64, "role": "read", "streams": [1]},
        {"sha256": "0" * 64, "role": "read", "stream": ["trades"]},
    ],
)
def test_an_entry_that_could_mean_more_than_it_says_is_refused(entry: object) -> None:
    with pytest.raises(ConfigurationError):
        token_from("ada", entry, "a file")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"ada": 1}', '{"a b": {}}', "\xff"])
def test_a_file_that_is_damaged_lets_nobody_in(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens.json").write_text(text, encoding="latin-1")
    with pytest.raises(PenstockError) as raised:
        TokenFile(tmp_path).tokens()
    assert raised.value.code == "BAD_CONFIGURATION"
