"""What operators over one input share that keep the event times of its tuples."""

from penstock.model.own_names import LEFT, RIGHT
from penstock.model.schema import quoted
from penstock.plan.operators.operator import EventTime, Operator


class KeepsTimes:
    """A tuple happens when the tuple of the input did of which it is made."""

    __slots__ = ()

    input: Operator

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input: tables are no streams."""
        return (self.input,)

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the input's event times."""
        return self.input.times


def beside(taken: tuple[tuple[str, str], ...]) -> str:
    """Return the columns of the left side and those taken from the right one, under their names."""
    others = (f"{RIGHT}.{quoted(name)} AS {quoted(out)}" for name, out in taken)
    return ", ".join([f"{LEFT}.*", *others])
