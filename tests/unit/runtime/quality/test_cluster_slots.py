from unittest import mock

import pytest

from penstock.runtime.quality.cluster_slots import LOOK_SECONDS, ClusterSlots


@pytest.mark.parametrize("are_given", [False, True])
def test_slots_are_the_clusters_cores_unless_somebody_has_fixed_them(are_given: bool) -> None:
    processor, pool, quality = mock.Mock(), mock.Mock(slots=1), mock.Mock()
    processor.follow_cores.side_effect = [1, 5]
    slots = ClusterSlots(processor, pool, quality, are_given=are_given)
    slots.follow(0.0)
    slots.follow(LOOK_SECONDS / 2)  # not that soon again
    assert processor.follow_cores.call_count == 1
    pool.resize.assert_not_called()
    slots.follow(LOOK_SECONDS)
    assert pool.resize.mock_calls == ([] if are_given else [mock.call(5)])
    assert quality.resize.mock_calls == pool.resize.mock_calls
