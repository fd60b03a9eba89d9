from statistics import fmean

import pytest

from penstock.experiments.anatomy.estimates import _trial


@pytest.mark.parametrize("setup", [0.0, 0.002])
@pytest.mark.parametrize("load", [0.2, 0.5, 0.7])
def test_mean_latency_turns_out_about_as_it_was_foretold(load: float, setup: float) -> None:
    found = [_trial(load, setup, seed, 60.0) for seed in (1, 2)]
    assert fmean(each.latency for each in found) < 0.35
    assert fmean(each.memory for each in found) < 0.4
