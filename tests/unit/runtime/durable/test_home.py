import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.errors import HomeBusyError, HomeError
from penstock.runtime.durable.home import Home, file_name

SOURCE = Path(penstock.__file__).parents[1]
OWNER = """
import signal, sys
from pathlib import Path
from penstock.runtime.durable.home import Home

home = Home(Path(sys.argv[1]))
print("at home", flush=True)
signal.pause()
"""


def test_a_home_is_made_where_there_is_none_for_its_owner_only(tmp_path: Path) -> None:
    with Home(tmp_path / "new" / "home") as home:
        assert home.path.is_dir()
        assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
        assert home.state.is_dir()
        assert home.spill.is_dir()


def test_a_home_is_used_again(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        (home.stream("traffic") / "seen").touch()
        home.journal.touch()
        home.catalog.touch()
    with Home(tmp_path) as home:
        assert (home.stream("traffic") / "seen").exists()


def test_spilled_trains_do_not_survive_a_restart(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        (home.spill / "buffer").mkdir()
        (home.spill / "buffer" / "train").touch()
        (home.spill / "train").touch()
    with Home(tmp_path) as home:
        assert list(home.spill.iterdir()) == []


def test_emptying_the_spill_follows_no_link_out_of_it(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    with Home(tmp_path / "home") as home:
        (home.spill / "link").symlink_to(precious)
    with Home(tmp_path / "home") as home:
        assert list(home.spill.iterdir()) == []
    assert (precious / "file").exists()


def test_two_cannot_be_at_home_and_the_second_learns_the_firsts_pid(tmp_path: Path) -> None:
    with Home(tmp_path):
        with pytest.raises(HomeBusyError) as caught:
            Home(tmp_path)
        assert caught.value.code == "HOME_BUSY"
        assert str(os.getpid()) in caught.value.message
        assert caught.value.hint
    Home(tmp_path).close()


def test_a_killed_owner_leaves_the_home_free(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"at home\n"
        with pytest.raises(HomeBusyError) as caught:
            Home(tmp_path)
        assert str(owner.pid) in caught.value.message
        owner.send_signal(signal.SIGKILL)
    with Home(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_closing_twice_is_no_error(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.close()
    home.close()


def test_a_file_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_refused(tmp_path / "file")


def test_a_place_below_a_file_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_refused(tmp_path / "file" / "home")


def test_a_place_that_cannot_be_written_is_no_home() -> None:
    assert_refused(Path("/proc/penstock"))


@pytest.mark.parametrize("other", [1, 9999])
def test_a_home_of_another_format_is_refused_and_left_alone(tmp_path: Path, other: int) -> None:
    with Home(tmp_path) as home:
        (home.spill / "train").touch()
    (tmp_path / "format").write_text(f"{other}\n")
    assert_refused(tmp_path, "HOME_FORMAT")
    assert (tmp_path / "spill" / "train").exists()


@pytest.mark.parametrize("content", [b"", b"one", b"\xff\xfe", b"-1"])
def test_a_format_that_makes_no_sense_is_refused(tmp_path: Path, content: bytes) -> None:
    Home(tmp_path).close()
    (tmp_path / "format").write_bytes(content)
    assert_refused(tmp_path)


def test_a_directory_with_a_spill_of_its_own_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "spill").mkdir()
    (tmp_path / "spill" / "precious").touch()
    assert_refused(tmp_path)
    assert (tmp_path / "spill" / "precious").exists()


def test_a_home_that_was_refused_is_not_locked(tmp_path: Path) -> None:
    (tmp_path / "spill").mkdir()
    assert_refused(tmp_path)
    (tmp_path / "spill").rmdir()
    Home(tmp_path).close()


@pytest.mark.parametrize(
    "name", ["..", ".", "", "a/b", "../../etc", "\0", "~", "x" * 5000, "é" * 200]
)
def test_no_name_leads_out_of_its_directory(tmp_path: Path, name: str) -> None:
    with Home(tmp_path) as home:
        for place in (home.stream, home.rejects, home.results, home.late):
            directory = place(name)
            assert directory.is_dir()
            assert directory.resolve().parent.parent == tmp_path.resolve()


def test_plain_names_stay_readable(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        assert home.results("left_turns-2") == tmp_path / "results" / "left_turns-2"


@given(st.text(), st.text())
def test_different_names_differ_even_where_files_have_no_case(one: str, other: str) -> None:
    assert (file_name(one).lower() == file_name(other).lower()) == (one == other)


@given(st.text(max_size=400).map(lambda text: text + "x" * 150))
def test_file_names_are_short_and_plain(name: str) -> None:
    assert len(file_name(name).encode()) <= 200
    assert set(file_name(name)) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-%")


def assert_refused(path: Path, code: str = "BAD_HOME") -> None:
    with pytest.raises(HomeError) as caught:
        Home(path)
    assert caught.value.code == code
