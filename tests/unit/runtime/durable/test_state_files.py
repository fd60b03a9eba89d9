from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import HomeError
from penstock.runtime.durable.journal import sealed, train_body, train_from, unsealed
from penstock.runtime.durable.state_files import damaged, put_on_disk


def test_files_that_are_as_they_were_written_are_whole(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode() * 100)
    sums = put_on_disk(tmp_path, ["a", "b"], {})
    known = {name: (size, check) for name, (size, check) in sums.items()}
    assert put_on_disk(tmp_path, ["a"], known) == {"a": sums["a"]}
    assert damaged(tmp_path, known) == []
    whole = (tmp_path / "a").read_bytes()
    for place in range(len(whole)):
        (tmp_path / "a").write_bytes(whole[:place] + b"?" + whole[place + 1 :])
        assert damaged(tmp_path, known) == [tmp_path / "a"]
        (tmp_path / "a").write_bytes(whole[:place])
        assert damaged(tmp_path, known) == [tmp_path / "a"]
    (tmp_path / "a").unlink()
    assert damaged(tmp_path, known) == [tmp_path / "a"]


def test_what_waits_beside_files_is_over_with_them_or_fails_with_them(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    done: list[str] = []
    put_on_disk(tmp_path, ["a"], {}, [lambda: done.append("one"), lambda: done.append("two")])
    assert sorted(done) == ["one", "two"]

    def fail() -> None:
        raise OSError("the disk says no")

    with pytest.raises(OSError, match="says no"):
        put_on_disk(tmp_path, ["a"], {}, [fail])


@given(data=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9)))
def test_what_is_sealed_comes_back(data: dict[str, object]) -> None:
    assert unsealed(sealed(data)) == data


@given(place=st.integers(0, 200), flip=st.integers(1, 127))
def test_a_record_with_a_wrong_character_is_damaged(place: int, flip: int) -> None:
    text = train_body({"segment": 0, "from": 217, "to": 1024, "name": "a#b"}, 12.5)
    place %= len(text)
    changed = text[:place] + chr(ord(text[place]) ^ flip) + text[place + 1 :]
    with pytest.raises(HomeError):
        train_from("s", 1, changed)


def test_a_record_that_is_cut_short_is_damaged() -> None:
    text = train_body({"segment": 0, "from": 217, "to": 1024}, 12.5)
    for size in range(len(text)):
        if size != text.rindex("#"):
            with pytest.raises(HomeError):
                train_from("s", 1, text[:size])
