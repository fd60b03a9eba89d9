import math

import pytest

from penstock.errors import BadOptionError
from penstock.place import Processor


def test_a_processor_has_any_property_and_defaults_for_those_that_are_read() -> None:
    davis = Processor("davis", {"location": "Worcester, MA", "cores": 2, "speed": 1.5})
    assert davis.capacity == 3.0
    assert davis.memory_bytes > 0
    assert davis.with_properties(cores=4, os="Linux").capacity == 6.0
    assert davis.capacity == 3.0


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, "many", True])
def test_figures_that_nothing_can_be_divided_by_are_refused(value: float) -> None:
    with pytest.raises(BadOptionError):
        Processor("p", {"cores": value})
