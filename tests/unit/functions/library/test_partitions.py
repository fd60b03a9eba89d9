from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import TypeMismatchError
from penstock.functions import Runner, StreamType, hash_part, partition, rr_part
from penstock.functions.data.items import Items
from penstock.functions.library.partitions import hashed
from penstock.model.schema import Column
from tests.unit.functions.worlds import readings, run_all

STRINGS = [15154452856141135343, 15096315883247316313, 16294208416658607535]
NUMBERS = [16294208416658607535, 10451216379200822465]

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=4),
    "binary": st.binary(max_size=4),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "int": st.integers(-9, 9),
    "double": st.floats(allow_nan=False),
    "float": st.floats(allow_nan=False, width=32),
    "boolean": st.booleans(),
    "date": st.dates(date(1900, 1, 1)),
    "float vector": st.binary(max_size=2).map(lambda part: part * 4),
}


def keyed(kind: str, values: list[Any]) -> Items:
    columns = StreamType("keyed", (Column("k", kind),))
    arrow = pa.binary() if kind.endswith("vector") else columns.field("k").type
    return Items.from_table(columns, pa.table({"k": pa.array(values, arrow)}))


@given(st.sampled_from(list(VALUES)), st.data())
def test_equal_values_have_equal_hashes_wherever_they_stand(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=8))
    items = keyed(kind, values)
    hashes = hashed(items, "k").tolist()
    by_value = {}
    for value, found in zip(values, hashes, strict=True):
        assert by_value.setdefault(value, found) == found
    assert len(set(hashes)) == len(by_value)
    first = data.draw(st.integers(0, len(values)))
    assert hashed(items.slice(first), "k").tolist() == hashes[first:]


def test_hashes_are_the_same_in_every_process() -> None:
    assert hashed(keyed("string", ["a", "radio", ""]), "k").tolist() == STRINGS
    assert hashed(keyed("bigint", [0, 1]), "k").tolist() == NUMBERS


@pytest.mark.parametrize("split", [rr_part, hash_part("value")])
def test_every_item_goes_to_one_branch_and_all_get_some(split) -> None:
    items = readings(range(1000))
    outputs, withheld = run_all(partition(4, split), items, [100, 333])
    assert not withheld
    assert sorted(np.concatenate([each.numbers for each in outputs])) == list(range(1000))
    assert min(len(each) for each in outputs) > 200


def test_what_has_no_hash_is_refused() -> None:
    kind = StreamType("t", (Column("l", "array<int>"),))
    with pytest.raises(TypeMismatchError, match="no hash"):
        Runner(partition(2, hash_part("l")), (kind,))


def test_turns_go_on_from_train_to_train() -> None:
    outputs, _ = run_all(partition(3, rr_part), readings(range(20)), [4, 5, 11], kill=True)
    assert [each.numbers.tolist() for each in outputs] == [list(range(i, 20, 3)) for i in range(3)]
