import pytest
from hypothesis import given, settings

from penstock.errors import BadEventError
from penstock.model.event_forms import (
    constituents,
    event_text,
    is_instant,
    shared_form,
    unbounded,
)
from penstock.model.events import (
    And,
    AnyOf,
    Aperiodic,
    Event,
    Mode,
    Not,
    Or,
    Periodic,
    Plus,
    Primitive,
    Seq,
    Watch,
    primitives,
)
from tests.examples import examples
from tests.unit.events.histories import events

A, B, C = (Primitive(name, name) for name in "abc")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Seq((A,)),
        lambda: And((A,)),
        lambda: Or(()),
        lambda: AnyOf(3, (A, B)),
        lambda: AnyOf(0, (A, B)),
        lambda: Periodic(A, 0, B),
        lambda: Periodic(A, -1, B),
        lambda: Plus(A, 0),
        lambda: Seq((A, B), 0),
        lambda: Not(B, A, C, -5),
        lambda: Watch(A, cap=0),
        lambda: Watch(Seq((A, Primitive("b", key=("room",))))),
    ],
)
def test_what_could_never_occur_or_never_agree_is_refused(make: object) -> None:
    with pytest.raises(BadEventError) as caught:
        make()  # type: ignore[operator]
    assert caught.value.hint


@given(events(3))
@settings(max_examples=examples(200), deadline=None)
def test_labels_do_not_matter_to_the_shared_form(event: Event) -> None:
    form = shared_form(event)
    assert shared_form(form.event).event == form.event
    assert sorted(form.labels) == sorted(each.label for each in constituents(Watch(event)))
    assert len(set(form.labels)) == len(form.labels) > 0


def test_and_is_any_of_all_and_or_is_any_of_one_in_the_order_given() -> None:
    assert shared_form(And((B, A))).event == shared_form(AnyOf(2, (B, A))).event
    assert shared_form(And((B, A))).labels == ("b", "a")
    assert shared_form(Or((B, A))).event == shared_form(AnyOf(1, (B, A))).event


def test_a_longer_sequence_begins_with_the_shorter_one() -> None:
    assert shared_form(Seq((A, B, C), 5)).event == shared_form(Seq((Seq((A, B)), C), 5)).event
    inner = shared_form(Seq((A, B, C), 5)).event
    assert isinstance(inner, Seq)
    assert inner.parts[0] == shared_form(Seq((A, B), 5)).event


def test_a_span_holds_for_all_below_it() -> None:
    outer = shared_form(Seq((And((A, B), 3), Not(B, A, C, 9)), 5)).event
    assert (
        event_text(outer) == "(ANY(2, a, b) WITHIN 3 us SEQ NOT(b)[a, c] WITHIN 5 us) WITHIN 5 us"
    )


def test_constituents_say_where_lists_and_gaps_can_stand() -> None:
    def told(event: Event, mode: Mode) -> list[tuple[str, str, bool, bool]]:
        return [
            (each.label, each.primitive, each.plural, each.optional)
            for each in constituents(Watch(event, mode))
        ]

    star = Aperiodic(A, B, C, all_at_last=True)
    assert told(star, Mode.RECENT) == [
        ("a", "a", False, False),
        ("b", "b", True, False),
        ("c", "c", False, False),
    ]
    assert told(Seq((A, B)), Mode.CUMULATIVE) == [("a", "a", True, False), ("b", "b", False, False)]
    assert told(AnyOf(2, (A, B, C)), Mode.RECENT)[0] == ("a", "a", False, True)
    ticks = Periodic(A, 5, C, label="tick")
    assert told(ticks, Mode.CUMULATIVE) == [("a", "a", True, False), ("tick", "", False, False)]
    assert told(Not(B, A, C), Mode.RECENT) == [("a", "a", False, False), ("c", "c", False, False)]


def test_what_would_grow_is_named() -> None:
    late = Seq((A, Seq((B, C))))
    assert unbounded(Watch(Seq((A, B)))) == ()
    assert unbounded(Watch(late))
    assert unbounded(Watch(late, point=True)) == ()
    for mode in set(Mode) - {Mode.RECENT, Mode.RECENT_UNIQUE}:
        assert unbounded(Watch(Seq((A, B)), mode)) == ("SEQ keeps each a until a b",)
        assert unbounded(Watch(Seq((A, B), 5), mode)) == ()
        assert unbounded(Watch(Seq((A, B)), mode, cap=5)) == ()
        assert unbounded(Watch(Plus(A, 5), mode)) == ()
        assert unbounded(Watch(Or((A, B)), mode)) == ()
    assert unbounded(Watch(Aperiodic(A, B, C, all_at_last=True)))
    assert len(unbounded(Watch(Seq((Seq((A, B)), C)), Mode.CONTINUOUS))) == 2


def test_some_composites_are_instants() -> None:
    assert is_instant(Plus(Seq((A, B)), 5))
    assert is_instant(Or((A, Periodic(A, 5, B))))
    assert not is_instant(Or((A, Seq((A, B)))))
    assert not is_instant(Primitive("x", lasts=True))
    assert [leaf.name for leaf in primitives(Not(B, A, C))] == ["a", "b", "c"]
