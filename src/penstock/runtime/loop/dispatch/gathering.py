"""Gathering: a run that closes no window waits a little, so that it does the work of several.

A job of Spark's costs about the same for ten rows as for a hundred. Between the ends of two windows
nobody waits for partials, so their next run begins a few times as long after the last one as the
least run takes, unless by then its rows would take as long as the job does by itself. What closes a
window runs at once: what it finds gathered makes it twice as long at most (docs/decisions/0051).
"""

import math

from penstock.plan.operators import Bundle, WindowAggregate, key
from penstock.plan.operators.completion import completion, waiting_operators
from penstock.runtime.work.live_unit import LiveUnit
from penstock.runtime.work.train_groups import Group
from penstock.schedule.costs.sizes import Sizes

BRIEF_SECONDS = 0.02  # of a run that Arrow answers; no plan of Spark's takes so little
PAUSE = 3.0  # times as long as the least run, so that runs take about a quarter of a slot
MOST_PAUSE_SECONDS = 1.0  # memory and SHOW QUERIES shall not wait for a slow machine
LONGER = 2.0  # times as long as the least run: its rows cost as much as the job


def gathers_until(live: LiveUnit, group: Group, sizes: Sizes) -> float:
    """Return until when a run over these trains waits for more; it waits for none after that.

    `sizes` are what runs of the unit took.
    """
    least = sizes.seconds(1)
    if least <= BRIEF_SECONDS or not isinstance(live.unit.stateful, WindowAggregate | Bundle):
        return -math.inf
    trains = [train for each in group.values() for train in each]
    takes_long = sizes.seconds(sum(train.rows.count for train in trains)) >= LONGER * least
    is_wanted = any(each.info.punctuation or each.info.deadline < math.inf for each in trains)
    if not trains or takes_long or is_wanted or live.history or _closes(live, group):
        return -math.inf
    return live.last_ended + min(PAUSE * least, MOST_PAUSE_SECONDS)


def _closes(live: LiveUnit, group: Group) -> bool:
    """Say whether a run may give rows; only windows over time that give each row once tell."""
    waiting = waiting_operators(live.unit.stateful, live.unit.root)
    before = min(live.reading.below(live.unit))
    after = min(live.reading.after(live.unit, group).reached)
    for root in live.unit.roots:
        operator = waiting.get(key(root))
        if not isinstance(operator, WindowAggregate) or operator.marks_emission:
            return True
        found = completion(operator, root, before, None)
        if found is None or after >= found.mark:
            return True
    return False
