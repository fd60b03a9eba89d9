"""Where statements may read and write, and which formats they may name."""

from pathlib import Path

import pytest

from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.spark import OPEN_FORMATS, refuse_closed
from penstock.errors import NotAllowedError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("here/in", "there/data", "out"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "here/link").symlink_to(tmp_path / "there")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("path", [".", "x", "in/x", "in/../x", "{here}/x"])
def test_files_below_the_working_directory_are_written_and_read(here: Path, path: str) -> None:
    allowed = Allowed(readable=frozenset(["in"]))
    allowed.require_writable(Path(path.format(here=here)))
    allowed.require_readable(path.format(here=here))


@pytest.mark.parametrize("path", ["..", "../x", "in/../../x", "link", "link/x", "/x", "../there"])
def test_files_elsewhere_wait_for_the_operator(here: Path, path: str) -> None:
    Allowed().require_readable(path)  # nobody has named directories
    closed = Allowed(readable=frozenset([str(here / "in")]))
    for require in (
        lambda: closed.require_writable(Path(path)),
        lambda: closed.require_readable(path),
    ):
        with pytest.raises(NotAllowedError) as caught:
            require()
        assert "connect(" in caught.value.hint
    opened = Allowed(writable=frozenset(["/"])) | closed
    opened.require_writable(Path(path))
    opened.require_readable(path)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("pattern", "may"),
    [
        ("in/*.json", True),
        ("../there/*", True),
        ("../there/**/*.json", True),
        ("../there/{a,b}", True),
        ("../*/data", False),
        ("link/*", True),
        ("../out/*", False),
        ("in/*/../../../out/x", False),
        ("in/{x,../../out/x}", False),
    ],
)
def test_a_pattern_is_read_where_all_that_it_may_find_is(pattern: str, *, may: bool) -> None:
    allowed = Allowed(readable=frozenset(["../there"]))
    if may:
        allowed.require_readable(pattern)
    else:
        with pytest.raises(NotAllowedError):
            allowed.require_readable(pattern)


def test_the_root_is_no_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    with pytest.raises(NotAllowedError):
        Allowed().require_writable(Path("/anywhere"))
    Allowed(writable=frozenset(["/any"])).require_writable(Path("/any/where"))


@pytest.mark.parametrize("name", OPEN_FORMATS)
def test_formats_of_local_files_are_open(name: str) -> None:
    options = {"path": "in", "recursiveFileLookup": "true", "cleanSource": "OFF"}
    refuse_closed(name.upper(), options, Allowed())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("socket", {}),
        ("kafka", {"kafka.bootstrap.servers": "host:9092"}),
        ("org.apache.spark.sql.execution.datasources.json.JsonFileFormat", {}),
        ("xml", {"path": "in"}),
        ("json", {"path": "s3a://bucket/in"}),
        ("json", {"path": "http://127.0.0.1:9/in"}),
        ("json", {"path": "x:in", "fs.x.impl": "com.example.Any"}),
        ("parquet", {"path": "in", "parquet.crypto.factory.class": "com.example.Any"}),
        ("json", {"path": "in", "cleanSource": "delete"}),
        ("json", {"path": "in", "CLEANSOURCE": "archive", "sourceArchiveDir": "/x"}),
    ],
)
def test_what_loads_classes_or_leaves_the_machine_is_opened_by_its_name(
    name: str, options: dict[str, str]
) -> None:
    with pytest.raises(NotAllowedError) as caught:
        refuse_closed(name, options, Allowed(formats=frozenset(["other"])))
    assert name in caught.value.hint
    refuse_closed(name, options, Allowed(formats=frozenset([name.upper()])))


def test_spark_reads_where_files_may_be_read(here: Path) -> None:
    allowed = Allowed(readable=frozenset(["../there"]))
    refuse_closed("text", {"path": f"file:{here.parent}/there/data"}, allowed)
    with pytest.raises(NotAllowedError):
        refuse_closed("text", {"path": "file:///etc/hostname"}, allowed)


@pytest.mark.parametrize("host", ["broker", "Broker:9092"])
def test_hosts_that_are_allowed_are_reached(host: str) -> None:
    Allowed(hosts=frozenset([host])).require_host("broker", 9092)


@pytest.mark.parametrize("host", ["brok", "broker:9093", "x.broker"])
def test_other_hosts_wait_for_the_operator(host: str) -> None:
    with pytest.raises(NotAllowedError, match="may reach broker:9092"):
        Allowed(hosts=frozenset([host])).require_host("broker", 9092)
