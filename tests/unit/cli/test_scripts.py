import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.cli.scripts import read_script
from penstock.errors import BadOptionError


def test_a_script_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.sql"
    path.write_text("SELECT 'ü';\n")
    assert read_script(str(path)) == "SELECT 'ü';\n"


def test_a_byte_order_mark_is_no_part_of_a_script(tmp_path: Path) -> None:
    path = tmp_path / "a.sql"
    path.write_bytes(b"\xef\xbb\xbfSHOW STREAMS")
    assert read_script(str(path)) == "SHOW STREAMS"


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"SHOW STREAMS")))
    assert read_script("-") == "SHOW STREAMS"


@pytest.mark.parametrize("name", ["gone.sql", ".", "a\0b.sql"])
def test_what_cannot_be_read_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadOptionError):
        read_script(name)


def test_a_script_that_is_not_utf_8_is_refused_at_its_first_bad_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.sql"
    path.write_bytes("SELECT 1;\nSELECT 'ü'".encode("latin-1"))
    with pytest.raises(BadOptionError) as caught:
        read_script(str(path))
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (2, 9)
