"""Files are taken away once they have been read, and no others."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.engine.interfaces.aftercare import Aftercare
from penstock.engine.interfaces.formats.listing import FoundFile
from penstock.errors import SourceError


def found(path: Path) -> FoundFile:
    seen = path.stat()
    return FoundFile(path, seen.st_size, seen.st_mtime_ns, 0.0)


def test_a_file_that_has_grown_since_it_was_read_stays_and_is_told(tmp_path: Path) -> None:
    around: Any = SimpleNamespace(home=tmp_path / "home")
    around.home.mkdir()
    after = Aftercare("delete", None, str(tmp_path), around)
    paths = [tmp_path / name for name in ("1.csv", "2.csv", "3.csv")]
    for path in paths:
        path.write_text("1\n")
    done = [found(path) for path in paths]
    with paths[1].open("a") as file:
        file.write("2\n")
    after.treat(done)
    assert [path.exists() for path in paths] == [False, True, True]
    with pytest.raises(SourceError, match="not as it was read"):
        after.complain()
    paths[1].unlink()
    after.treat(done)
    after.complain()
    assert [path.exists() for path in paths] == [False, False, False]
