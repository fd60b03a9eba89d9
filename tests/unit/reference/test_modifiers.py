from tests.e2e.reference.modifiers import adiff, aslope, rdiff, steps
from tests.e2e.reference.windows import Row

ROWS: list[Row] = [
    {"ts": 3, "k": "a", "x": 6, "y": 1},
    {"ts": 1, "k": "a", "x": 2, "y": 1},
    {"ts": 2, "k": "b", "x": 0, "y": 5},
    {"ts": 4, "k": "b", "x": 3, "y": 5},
    {"ts": 5, "k": "a", "x": None, "y": 2},
    {"ts": 6, "k": "a", "x": 9, "y": 4},
]


def test_the_first_tuple_of_a_partition_gives_no_row() -> None:
    assert len(steps(ROWS)) == 5
    assert [(step.old["ts"], step.new["ts"]) for step in steps(ROWS, ("k",))] == [
        (1, 3),
        (3, 5),
        (5, 6),
        (2, 4),
    ]


def test_adiff_is_the_step_and_null_beside_null() -> None:
    assert [adiff(step, "x") for step in steps(ROWS, ("k",))] == [4, None, None, 3]


def test_rdiff_is_the_step_as_a_share_of_the_old_value() -> None:
    assert [rdiff(step, "x") for step in steps(ROWS, ("k",))] == [2.0, None, None, None]


def test_pseudo_takes_the_place_of_a_zero_denominator_only() -> None:
    found = [rdiff(step, "x", pseudo=2) for step in steps(ROWS, ("k",))]
    assert found == [2.0, None, None, 1.5]


def test_aslope_is_one_step_by_another() -> None:
    assert [aslope(step, "ts", "x") for step in steps(ROWS, ("k",))] == [0.5, None, None, 2 / 3]
    assert [aslope(step, "x", "y") for step in steps(ROWS, ("k",))] == [None] * 4
    assert [aslope(step, "ts", "y", pseudo=4) for step in steps(ROWS, ("k",))] == [
        0.5,
        2.0,
        0.5,
        0.5,
    ]


def test_the_profile_says_whose_values_the_other_columns_show() -> None:
    assert [step.shown["ts"] for step in steps(ROWS, ("k",))] == [3, 5, 6, 4]
    assert [step.shown["ts"] for step in steps(ROWS, ("k",), "O")] == [1, 3, 5, 2]


def test_one_tuple_or_none_gives_nothing() -> None:
    assert steps(ROWS[:1]) == steps([]) == []
