import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.engine.spark.application.session import Sessions, open_sessions
from penstock.engine.tables import Tables, check_table
from penstock.engine.trains.rows import SMALL_ROWS
from penstock.errors import PenstockError
from penstock.model.definitions import Connector, Option, TableDefinition
from penstock.model.schema import Column, Schema
from penstock.plan.operators import table_view

pytestmark = pytest.mark.spark

ROWS = [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}]
SCHEMA = Schema((Column("id", "int"), Column("name", "string")))


@pytest.fixture(scope="module")
def sessions(spark: SparkSession) -> Sessions:
    return open_sessions(spark=spark)


@pytest.fixture
def tables(sessions: Sessions, tmp_path: Path) -> Tables:
    return Tables(sessions, tmp_path / "held")


def definition(
    schema: Schema | None = None, name: str = "roads", **options: Option
) -> TableDefinition:
    return TableDefinition(name, Connector("files", tuple(options.items())), schema)


def written(directory: Path, form: str) -> str:
    path = directory / f"roads.{form}"
    match form:
        case "json":
            path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        case "csv":
            path.write_text("id,name\n" + "".join(f"{r['id']},{r['name']}\n" for r in ROWS))
        case _:
            pq.write_table(pa.Table.from_pylist(ROWS), path)
    return str(path)


def held(sessions: Sessions, view: str) -> list[list[dict[str, object]]]:
    """Return the table's rows in each session that units, SELECTs and the analyst use."""
    faces = (sessions.small, sessions.large, sessions.analysis)
    return [face.table(view).toArrow().to_pylist() for face in faces]


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_a_table_is_read_with_the_types_that_its_files_have(
    tables: Tables, sessions: Sessions, tmp_path: Path, form: str
) -> None:
    schema = tables.load(definition(path=written(tmp_path, form), format=form), 1)
    assert schema.names == ("id", "name")
    assert schema.columns[0].type == ("int" if form == "csv" else "bigint")
    assert held(sessions, table_view("roads", 1)) == [ROWS] * 3


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_columns_that_are_declared_hold(
    tables: Tables, sessions: Sessions, tmp_path: Path, form: str
) -> None:
    declared = Schema((Column("name", "string"),)) if form != "csv" else SCHEMA
    schema = tables.load(definition(declared, path=written(tmp_path, form), format=form), 2)
    assert schema == declared
    names = declared.names
    expected = [{name: row[name] for name in names} for row in ROWS]
    assert held(sessions, table_view("roads", 2)) == [expected] * 3


def test_a_csv_may_have_no_header_and_another_delimiter(
    tables: Tables, sessions: Sessions, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("1;one\n2;two\n")
    path = str(tmp_path / "a.csv")
    options = {"path": path, "format": "CSV", "header": False, "delimiter": ";"}
    assert tables.load(definition(SCHEMA, **options), 3) == SCHEMA
    assert held(sessions, table_view("roads", 3)) == [ROWS] * 3


def test_a_directory_is_one_table(tables: Tables, sessions: Sessions, tmp_path: Path) -> None:
    place = tmp_path / "many"
    place.mkdir()
    for row in ROWS:
        (place / f"{row['id']}.json").write_text(json.dumps(row))
    tables.load(definition(path=str(place), format="json"), 4)
    for face in held(sessions, table_view("roads", 4)):
        assert sorted(row["id"] for row in face) == [1, 2]  # type: ignore[type-var]


def test_a_large_table_is_held_in_a_file(
    tables: Tables, sessions: Sessions, tmp_path: Path
) -> None:
    count = SMALL_ROWS + 1
    pq.write_table(pa.table({"id": range(count)}), tmp_path / "large.parquet")
    tables.load(definition(path=str(tmp_path / "large.parquet"), format="parquet"), 5)
    (tmp_path / "large.parquet").unlink()
    assert len(list((tmp_path / "held").iterdir())) == 1
    for face in (sessions.small, sessions.large, sessions.analysis):
        found = face.table(table_view("roads", 5)).selectExpr("count(*) AS n", "sum(id) AS s")
        assert found.toArrow().to_pylist() == [{"n": count, "s": sum(range(count))}]


def test_a_small_table_outlives_its_file(
    tables: Tables, sessions: Sessions, tmp_path: Path
) -> None:
    path = written(tmp_path, "json")
    tables.load(definition(path=path, format="json"), 6)
    Path(path).unlink()
    assert held(sessions, table_view("roads", 6)) == [ROWS] * 3


def test_a_table_that_is_dropped_is_in_no_session(
    tables: Tables, sessions: Sessions, tmp_path: Path
) -> None:
    tables.load(definition(path=written(tmp_path, "json"), format="json"), 7)
    tables.drop("Roads", 7)
    for face in (sessions.small, sessions.large, sessions.analysis):
        assert not face.catalog.tableExists(table_view("roads", 7))


def test_a_table_may_have_any_name(tables: Tables, sessions: Sessions, tmp_path: Path) -> None:
    tables.load(definition(path=written(tmp_path, "json"), format="json", name="Straße 1"), 8)
    assert held(sessions, table_view("Straße 1", 8)) == [ROWS] * 3


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"path": "/nada", "format": "json"}, "SOURCE_FAILED"),
        ({"format": "json"}, "BAD_OPTION"),
        ({"path": "x"}, "BAD_OPTION"),
        ({"path": "x", "format": "xml"}, "BAD_OPTION"),
        ({"path": "x", "format": "json", "paht": "y"}, "UNKNOWN_OPTION"),
        ({"path": "x", "format": "csv", "delimiter": "::"}, "BAD_OPTION"),
    ],
)
def test_what_is_wrong_with_a_table_has_its_code(
    tables: Tables, options: dict[str, Option], code: str
) -> None:
    with pytest.raises(PenstockError) as refused:
        tables.load(definition(**options), 9)
    assert refused.value.code == code


def test_a_table_comes_from_files_alone() -> None:
    with pytest.raises(PenstockError) as refused:
        check_table(TableDefinition("roads", Connector("push")))
    assert refused.value.code == "UNKNOWN_CONNECTOR"


@pytest.mark.parametrize(
    ("form", "text"),
    [("json", '{"id": "one", "name": 2}\n'), ("csv", "id,name\none,two\n"), ("parquet", "no")],
)
def test_rows_that_do_not_fit_the_declared_columns_are_refused(
    tables: Tables, tmp_path: Path, form: str, text: str
) -> None:
    path = tmp_path / f"bad.{form}"
    path.write_text(text)
    with pytest.raises(PenstockError) as refused:
        tables.load(definition(SCHEMA, path=str(path), format=form), 10)
    assert refused.value.code == "SOURCE_FAILED"
    assert len(refused.value.message.splitlines()) == 1
