import pytest

from penstock.runtime.durable.result_row import ResultRow

ROW = ResultRow("left_turns", (3, 1), {"car_id": "a", "mph": 55})


def test_a_row_reads_like_a_mapping() -> None:
    assert ROW["car_id"] == "a"
    assert ROW.get("gone") is None
    assert dict(ROW) == {"car_id": "a", "mph": 55}
    assert (len(ROW), list(ROW), "mph" in ROW) == (2, ["car_id", "mph"], True)
    with pytest.raises(KeyError):
        ROW["gone"]


def test_a_row_knows_its_query_and_its_place() -> None:
    assert (ROW.query, ROW.position) == ("left_turns", (3, 1))
    assert repr(ROW) == "ResultRow('left_turns', (3, 1), {'car_id': 'a', 'mph': 55})"


def test_its_dict_is_the_callers_own() -> None:
    ROW.as_dict()["mph"] = 0
    assert ROW["mph"] == 55
