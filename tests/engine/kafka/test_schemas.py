"""Avro and Protobuf by schemas from a registry (a double over HTTP) and from files."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pb2 import FileDescriptorSet as DescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP

from penstock.engine.allowed import Allowed
from penstock.engine.clients.kafka.registry import Registry
from penstock.engine.clients.kafka.registry_place import RegistryPlace
from penstock.engine.connectors.sources import check
from penstock.engine.interfaces.kafka import avro_values, protobuf_values
from penstock.engine.interfaces.kafka import decoded as decoded_values
from penstock.engine.interfaces.kafka.decoded import Decoded, ItemDecoder
from penstock.errors import BadOptionError, NotAllowedError, SourceError
from penstock.model.definitions import Connector, Option, Secret, StreamDefinition
from penstock.model.schema import Column, Schema
from tests.engine.kafka.registry_double import RegistryDouble, running_registry

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CAR = {
    "type": "record",
    "name": "Car",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "mph", "type": ["null", "int"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "unasked", "type": "long"},
    ],
}
ROW = {"id": "a", "mph": 7, "at": NOON, "price": Decimal("1.50"), "tags": ["x"], "unasked": 1}
COLUMNS = Schema(
    (
        Column("ID", "string"),
        Column("mph", "int"),
        Column("at", "timestamp"),
        Column("price", "decimal(9,2)"),
        Column("tags", "array<string>"),
        Column("missing", "int"),
    )
)
READ = {"ID": "a", "mph": 7, "at": NOON, "price": Decimal("1.50"), "tags": ["x"], "missing": None}


KINDS = {
    "int": pa.int32(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "decimal(9,2)": pa.decimal128(9, 2),
    "array<string>": pa.list_(pa.string()),
    "struct<id:string>": pa.struct([("id", pa.string())]),
}


def arrow_of(schema: Schema) -> pa.Schema:
    """Return types as Spark has them, without one."""
    return pa.schema([(column.name, KINDS[column.type]) for column in schema])


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_values, "arrow_schema", arrow_of)


@pytest.fixture
def registry() -> Iterator[RegistryDouble]:
    with running_registry() as double:
        yield double


def place_of(double: RegistryDouble, **more: Any) -> RegistryPlace:
    told = {"registry": double.url, "registry_user": None, "registry_password": None}
    place = RegistryPlace.of({**told, "timeout": timedelta(seconds=5), **more})
    assert place is not None
    return place


def avro(schema: Mapping[str, Any], row: Mapping[str, Any], number: int | None = None) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, fastavro.parse_schema(dict(schema)), dict(row))
    return (b"" if number is None else framed(number)) + file.getvalue()


def framed(number: int) -> bytes:
    return b"\0" + number.to_bytes(4, "big")


def decoded(item: Callable[[bytes], Mapping[str, Any]], *values: bytes) -> Decoded:
    return ItemDecoder(COLUMNS, item).decode(values)


def test_avro_of_several_schemas_is_read_by_their_numbers(registry: RegistryDouble) -> None:
    older = {**CAR, "fields": CAR["fields"][:1]}  # type: ignore[index]
    first, second = registry.add("cars", older), registry.add("cars", CAR)
    item = avro_values.by_registry(Registry(place_of(registry), serialized=False))
    found = decoded(item, avro(older, {"id": "b"}, first), avro(CAR, ROW, second)).rows.to_pylist()
    assert found == [{**dict.fromkeys(READ), "ID": "b"}, READ]
    decoded(item, avro(CAR, ROW, second))
    assert len(registry.asked) == 2  # a number means the same schema for ever


def test_avro_that_refers_to_other_schemas_is_read(registry: RegistryDouble) -> None:
    place = {"type": "record", "name": "shop.Place", "fields": [{"name": "id", "type": "string"}]}
    registry.add("place", place)
    trip = {
        "type": "record",
        "name": "Trip",
        "fields": [{"name": "to", "type": "shop.Place"}, {"name": "id", "type": "string"}],
    }
    number = registry.add("trips", trip, [("shop.Place", "place")])
    written = avro({**trip, "fields": [{"name": "to", "type": place}, trip["fields"][1]]},
                   {"to": {"id": "x"}, "id": "y"}, number)  # type: ignore[index]  # fmt: skip
    item = avro_values.by_registry(Registry(place_of(registry), serialized=False))
    columns = Schema((Column("to", "struct<id:string>"), Column("id", "string")))
    found = ItemDecoder(columns, item).decode([written])
    assert found.rows.to_pylist() == [{"to": {"id": "x"}, "id": "y"}]


def test_what_is_no_avro_of_its_schema_is_a_misfit_and_the_others_come(
    registry: RegistryDouble,
) -> None:
    number = registry.add("cars", CAR)
    wide = registry.add("wide", {"type": "record", "name": "W", "fields": [
        {"name": "mph", "type": "long"}]})  # fmt: skip
    item = avro_values.by_registry(Registry(place_of(registry), serialized=False))
    good = avro(CAR, ROW, number)
    values = [
        b"{}",
        b"",
        good[:-1],
        good + b"\0",
        good,
        framed(99) + good[5:],
        framed(wide) + b"\xfe\xff\xff\xff\xff\x01",
        framed(registry.add("text", "string")) + b"\x02a",
        framed(registry.add("broken", {"type": "nothing"})) + b"a",
    ]
    found = decoded(item, *values)
    assert found.rows.to_pylist() == [READ]
    assert set(found.misfits) == set(range(len(values))) - {4}
    assert {at: each.kind for at, each in found.misfits.items() if each.kind != "syntax"} == {
        6: "type"
    }
    assert found.misfits[6].column == "mph"


def test_a_registry_that_cannot_be_asked_loses_nothing(
    registry: RegistryDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.password = "p@ss"
    number = registry.add("cars", CAR)
    user = {"registry_user": "reader", "registry_password": Secret("REGISTRY")}
    monkeypatch.setenv("PENSTOCK_SECRET_REGISTRY", "wrong")
    place = place_of(registry, **user)
    with pytest.raises(SourceError, match="401") as raised:
        decoded(avro_values.by_registry(Registry(place, serialized=False)), framed(number))
    assert "wrong" not in str(raised.value)
    monkeypatch.setenv("PENSTOCK_SECRET_REGISTRY", "p@ss")
    item = avro_values.by_registry(Registry(place, serialized=False))
    assert decoded(item, avro(CAR, ROW, number)).rows.num_rows == 1
    away = place_of(registry, registry="http://127.0.0.1:1")
    with pytest.raises(SourceError, match="refused"):
        decoded(avro_values.by_registry(Registry(away, serialized=False)), framed(number))


def test_avro_and_protobuf_go_by_a_schema_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "car.avsc").write_text(json.dumps(CAR))
    item = avro_values.by_file(tmp_path / "car.avsc")
    assert decoded(item, avro(CAR, ROW)).rows.to_pylist() == [READ]
    file = descriptors()
    (tmp_path / "car.desc").write_bytes(DescriptorSet(file=[file]).SerializeToString())
    item = protobuf_values.by_file(tmp_path / "car.desc", "shop.Fleet.Car")
    assert decoded(item, car(file).SerializeToString()).rows.to_pylist()[0]["ID"] == "a"
    for broken in (
        lambda: avro_values.by_file(tmp_path / "car.desc"),
        lambda: avro_values.by_file(tmp_path / "nowhere"),
        lambda: protobuf_values.by_file(tmp_path / "car.avsc", "shop.Car"),
        lambda: protobuf_values.by_file(tmp_path / "car.desc", "shop.Nothing"),
    ):
        with pytest.raises(BadOptionError):
            broken()


def descriptors() -> FileDescriptorProto:
    """Return `message Fleet { message Car { … } }` as protoc would."""
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    file.message_type.add(name="Other")
    made = file.message_type.add(name="Fleet").nested_type.add(name="Car")
    kinds = FieldDescriptorProto
    enum = made.enum_type.add(name="Kind")
    enum.value.add(name="SMALL", number=0)
    enum.value.add(name="LARGE", number=1)
    for number, (name, kind, label, of) in enumerate(
        (
            ("id", kinds.TYPE_STRING, kinds.LABEL_OPTIONAL, ""),
            ("mph", kinds.TYPE_SINT32, kinds.LABEL_OPTIONAL, ""),
            ("at", kinds.TYPE_MESSAGE, kinds.LABEL_OPTIONAL, ".google.protobuf.Timestamp"),
            ("tags", kinds.TYPE_STRING, kinds.LABEL_REPEATED, ""),
            ("kind", kinds.TYPE_ENUM, kinds.LABEL_OPTIONAL, ".shop.Fleet.Car.Kind"),
        ),
        1,
    ):
        field = made.field.add(name=name, number=number, type=kind, label=label)
        if of:
            field.type_name = of
    return file


def car(file: FileDescriptorProto) -> Any:
    pool = DescriptorPool()
    pool.AddSerializedFile(TIMESTAMP.serialized_pb)
    pool.Add(file)
    made = GetMessageClass(pool.FindMessageTypeByName("shop.Fleet.Car"))(id="a", mph=-7, kind=1)
    made.at.FromDatetime(NOON)
    made.tags.append("x")
    return made


def test_protobuf_is_read_by_the_number_and_the_place_of_its_message(
    registry: RegistryDouble,
) -> None:
    file = descriptors()
    number = registry.add("cars", file.SerializeToString())
    item = protobuf_values.by_registry(Registry(place_of(registry), serialized=True))
    body = b"\x04\x02\x00" + car(file).SerializeToString()  # two places: 1, then 0
    columns = Schema((*COLUMNS.columns[:3], *COLUMNS.columns[4:], Column("kind", "string")))
    other = framed(number) + b"\x00"  # the first message, of which nothing is said
    values = [framed(number) + body, other, framed(number) + b"\x04\x02\x0a", framed(number), b"a"]
    values.append(framed(number) + b"\x04\x02\x00\xff")
    found = ItemDecoder(columns, item).decode(values)
    expected = {"ID": "a", "mph": -7, "at": NOON, "tags": ["x"], "missing": None, "kind": "LARGE"}
    assert found.rows.to_pylist() == [expected, dict.fromkeys(expected)]
    assert sorted(found.misfits) == [2, 3, 4, 5]


@pytest.mark.parametrize(
    "options",
    [
        {"format": "avro"},
        {"format": "json", "registry": "http://r"},
        {"format": "avro", "registry": "http://r", "schema": "a"},
        {"format": "avro", "registry": "ftp://r"},
        {"format": "avro", "registry": "http://me:secret@r"},
        {"format": "avro", "registry": "http://r", "registry_user": "me"},
        {"format": "protobuf", "schema": "a"},
        {"format": "avro", "schema": "a", "message": "b"},
    ],
)
def test_options_of_schemas_that_do_not_fit_are_refused(options: dict[str, Option]) -> None:
    told = {"servers": "localhost", "topic": "a", **options}
    with pytest.raises(BadOptionError):
        check(StreamDefinition("s", COLUMNS, Connector("kafka", tuple(told.items()))))


def test_a_registry_that_nobody_allowed_is_not_asked(registry: RegistryDouble) -> None:
    with pytest.raises(NotAllowedError):
        place_of(registry).require_allowed(Allowed(hosts=frozenset({"127.0.0.1:1"})))
