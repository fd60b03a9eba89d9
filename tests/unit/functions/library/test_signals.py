import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadOptionError, TypeMismatchError
from penstock.functions import (
    Runner,
    StreamType,
    central,
    fft3,
    identity,
    magnitude,
    pipe,
    polarize,
    sample,
    time_aggregate,
    time_windows,
    window_aggregate,
    xchannel,
    xmagn,
)
from penstock.model.schema import Column
from tests.unit.functions.worlds import (
    RADIO,
    READING,
    SIGNAL,
    assert_same,
    cuts,
    moments,
    ordered_times,
    radio,
    readings,
    run_all,
)


def test_fft3_is_the_definition_of_the_transform() -> None:
    items = radio([1, 2], [6, 5])
    (got,), _ = run_all(central(fft3), items)
    for row, spectrum in zip(items["y"], got["y"], strict=True):
        n = np.arange(len(row))
        by_hand = (row * np.exp(-2j * np.pi * np.outer(n, n) / len(row))).sum(axis=1)
        assert np.abs(spectrum - by_hand).max() < 1e-5


def test_the_spectra_of_doubles_are_made_of_doubles() -> None:
    items = SIGNAL(ts=moments([1]), v=np.array([[1.0, 2.0, 4.0]]))
    (got,), _ = run_all(central(fft3), items)
    assert got.type.columns[1] == Column("v", "double complex vector")
    np.testing.assert_allclose(got["v"][0], np.fft.fft([1.0, 2.0, 4.0]), rtol=1e-15)


def test_identity_gives_what_comes() -> None:
    items = radio([1, 2], 3)
    (got,), _ = run_all(central(identity), items)
    assert_same(got, items)


def test_xchannel_keeps_time_and_one_channel() -> None:
    items = radio([1, 2], 3)
    (got,), _ = run_all(central(xchannel("y")), items)
    assert [column.name for column in got.type.columns] == ["ts", "y"]
    assert got.type.ordering == "ts"
    np.testing.assert_array_equal(got["y"], items["y"])


def test_magnitude_is_that_of_each_element() -> None:
    items = radio([1], 3)
    (got,), _ = run_all(central(magnitude), items)
    np.testing.assert_array_equal(got["x"], np.abs(items["x"]))
    assert got.type.vectors["x"].value == "float vector"


@given(st.floats(0.1, 10.0), st.lists(st.integers(0, 5), max_size=6))
def test_xmagn_lets_through_whose_spectrum_is_greater(threshold: float, sizes: list[int]) -> None:
    items = radio(range(len(sizes)), sizes)
    (got,), _ = run_all(central(xmagn(threshold)), items)
    channel = items.vectors("x").each()
    wanted = [at for at, row in enumerate(channel) if len(row) and peak(row) > threshold]
    assert got.times.tolist() == wanted


def peak(row: np.ndarray) -> float:
    return float(np.abs(np.fft.fft(row)).max())


@given(ordered_times, st.data())
def test_the_axes_of_polarize_are_those_of_the_ellipse(
    times: list[int], data: st.DataObject
) -> None:
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=len(times), max_size=len(times)))
    items = radio(times, sizes, seed=data.draw(st.integers(0, 99)))
    (got,), _ = run_all(pipe(polarize), items)
    assert len(got.type.vectors) == 6
    field = np.stack([items.vectors(axis).values for axis in "xyz"])
    major = np.stack([got.vectors(f"major_{axis}").values for axis in "xyz"])
    minor = np.stack([got.vectors(f"minor_{axis}").values for axis in "xyz"])
    length = (np.abs(field) ** 2).sum(axis=0)
    a, b = (major**2).sum(axis=0), (minor**2).sum(axis=0)
    np.testing.assert_allclose(a + b, length, rtol=1e-4)
    assert (np.abs((major * minor).sum(axis=0)) <= 1e-4 * length).all()
    assert (a >= b - 1e-4 * length).all()
    turn = (field * (major - 1j * minor)).sum(axis=0) / length
    np.testing.assert_allclose(np.abs(turn), 1.0, rtol=1e-4)
    np.testing.assert_allclose(
        field, turn * (major + 1j * minor), atol=1e-4 * length.max(initial=1)
    )


def test_polarize_needs_three_complex_channels_of_one_length() -> None:
    with pytest.raises(TypeMismatchError):
        Runner(pipe(magnitude, polarize), (RADIO,))
    odd = RADIO(
        ts=moments([1, 2]),
        x=[np.zeros(2, np.complex64)] * 2,
        y=[np.zeros(2, np.complex64), np.zeros(3, np.complex64)],
        z=[np.zeros(2, np.complex64)] * 2,
    )
    (got,), withheld = run_all(central(polarize), odd)
    assert got.times.tolist() == [1]
    assert [each.items.times.tolist() for each in withheld] == [[2]]


@given(ordered_times, st.integers(1, 4), st.data())
def test_sample_picks_one_of_every_n_whatever_the_cut(
    times: list[int], n: int, data: st.DataObject
) -> None:
    items = readings(times)
    (whole,), _ = run_all(central(sample(n, seed=3)), items)
    picked = [int(value) for value in whole["value"]]
    assert [place // n for place in picked] == list(range(len(times) // n))
    (got,), _ = run_all(central(sample(n, seed=3)), items, data.draw(cuts(len(items))), kill=True)
    assert_same(got, whole)


def test_sample_picks_every_place_about_as_often() -> None:
    (got,), _ = run_all(central(sample(4)), readings(range(4000)))
    counts = np.bincount(got["value"].astype(int) % 4, minlength=4)
    assert counts.min() > 200


HOW = {"sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max}
TRACE = StreamType(
    "trace",
    (
        Column("at", "bigint"),
        Column("v", "double vector"),
        Column("n", "int"),
        Column("s", "string"),
    ),
    "at",
)


def traces(times: list[int]) -> object:
    rng = np.random.default_rng(len(times))
    count = len(times)
    return TRACE(
        at=times,
        v=rng.normal(size=(count, 3)),
        n=rng.integers(-9, 9, count).astype(np.int32),
        s=[str(place) for place in range(count)],
    )


@given(ordered_times, st.sampled_from(list(HOW)), st.integers(1, 4), st.integers(1, 5), st.data())
def test_aggregates_of_windows_are_those_of_their_items(
    times: list[int], how: str, size: int, step: int, data: st.DataObject
) -> None:
    items = traces(times)
    flow = central(window_aggregate(how, size, step))
    (got,), _ = run_all(flow, items, data.draw(cuts(len(items))), kill=True)
    starts = [at for at in range(0, len(times), step) if at + size <= len(times)]
    assert got["s"].tolist() == [str(at + size - 1) for at in starts]
    for row, at in enumerate(starts):
        expected = HOW[how](items["v"][at : at + size], axis=0)
        np.testing.assert_allclose(got["v"][row], expected, rtol=1e-12, atol=1e-12)
        assert got["n"][row] == pytest.approx(HOW[how](items["n"][at : at + size]))


@given(ordered_times, st.sampled_from(list(HOW)), st.integers(0, 4), st.data())
def test_aggregates_of_time_windows_are_those_of_the_last_span(
    times: list[int], how: str, span: int, data: st.DataObject
) -> None:
    items = traces(times)
    flow = central(time_aggregate(how, float(span)))
    (got,), _ = run_all(flow, items, data.draw(cuts(len(items))), kill=True)
    assert got["s"].tolist() == items["s"].tolist()
    for row, time in enumerate(times):
        inside = [at for at in range(row + 1) if times[at] >= time - span]
        expected = HOW[how](items["v"][inside], axis=0)
        np.testing.assert_allclose(got["v"][row], expected, rtol=1e-12, atol=1e-12)


@given(ordered_times, st.integers(0, 4), st.data())
def test_time_windows_give_the_items_of_each_window(
    times: list[int], span: int, data: st.DataObject
) -> None:
    items = traces(times)
    (got,), _ = run_all(
        central(time_windows(float(span))), items, data.draw(cuts(len(items))), kill=True
    )
    expected = [
        (time - span, time, last, str(at))
        for last, time in enumerate(times)
        for at in range(last + 1)
        if times[at] >= time - span
    ]
    bounds = (got.table[name].to_pylist() for name in ("window_start", "window_end", "window_item"))
    assert list(zip(*bounds, got["s"].tolist(), strict=True)) == expected
    assert got.times.tolist() == [end for _, end, _, _ in expected]


def test_a_time_window_over_timestamps_is_in_seconds() -> None:
    items = SIGNAL(ts=moments([0, 400_000, 1_000_000, 2_000_000]), v=np.ones((4, 1)))
    (got,), _ = run_all(central(time_aggregate("sum", 1.0)), items)
    assert got["v"][:, 0].tolist() == [1, 2, 3, 2]


def test_aggregates_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadOptionError, match="no aggregate"):
        Runner(central(window_aggregate("median", 3)), (READING,))
    with pytest.raises(BadOptionError, match="no order"):
        Runner(central(window_aggregate("max", 3)), (RADIO,))


def test_a_window_of_vectors_of_several_lengths_is_held() -> None:
    items = radio(range(6), [2, 2, 2, 3, 2, 2])
    (got,), withheld = run_all(central(window_aggregate("sum", 2)), items)
    assert got.times.tolist() == [1, 5]
    (held,) = withheld
    assert (held.function, held.items.times.tolist()) == ("window_aggregate", [2, 3])


def test_not_a_number_and_infinity_are_carried() -> None:
    rows = np.array([[np.nan, 1.0], [np.inf, 1.0]])
    items = SIGNAL(ts=moments([1, 2]), v=rows)
    (got,), withheld = run_all(central(fft3), items)
    assert not withheld
    assert np.isnan(got["v"][0]).all()
    assert not np.isfinite(got["v"][1]).any()
