"""Tuning: every constant of the quality loop, once. Spark and the simulator are steered by these.

They were set where costs are least certain, on Spark over two cores, and the simulator's laws hold
with them (decision 0083).
"""

# -- looking -----------------------------------------------------------------------------------
LOOK_SECONDS, CALM_LOOK_SECONDS = 0.5, 1.0  # between looks; the latter in calm times
CALM = 0.7  # of the load past which something has to go: gates see to a sudden burst by themselves
LOOK_SHARE = 0.02  # of the time, computing: with very many queries it is looked at less often
AHEAD_SECONDS = 1.0  # for which the load is foreseen: what waits can still be dropped
SURE_SECONDS = 1.0  # for which more than can be done is foreseen before anything is shed

# -- promises ----------------------------------------------------------------------------------
PATIENT_SECONDS = 10.0  # of a query that says nothing about its latency
ROUNDS = 2  # that a tuple may see before it is done: the one it just missed, and its own
DRAIN_PART, USUAL_PART = 1 / 2, 1 / 4  # of the shortest latency: to do what waits, and left waiting
IN_TIME = 0.75  # of the age that a tuple may have: what runs take is foreseen from a few

# -- shedding ----------------------------------------------------------------------------------
START = 1.0  # ANA-13: past that load something has to go
GOAL = 0.8  # of the load that is left: what it is foreseen from is a few runs
LESS_SECONDS = 3.0  # until less is shed: a burst's pause is no end of it
CHANGE = 0.05  # of the load: less is not worth a change of gates

# -- suspending --------------------------------------------------------------------------------
LEAST_GOAL = 0.95  # of what is left behind all gates that may be
ROOM = 0.9  # to come back: a query that would be suspended again soon is better left
BACK_SECONDS, MOST_BACK_SECONDS = 10.0, 60.0  # of room, until somebody comes back
RELAPSE_SECONDS = 60.0  # who has to go again so soon waits twice as long the next time
BROKEN_LATENCIES, MOST_BROKEN_SECONDS = 3.0, 10.0  # for which a promise breaks before anybody goes
NEXT_SECONDS = 2.0  # from one who goes to the next: what that has helped must show
CATCH_UP_SECONDS = 10.0  # in which those who stay shall be done with what waits
MOST_OVER = 2.0  # times of what can be done: costs are too high while few runs told them
BUSY = 0.5  # of a slot: where less is needed and tuples wait, it is not the load that they wait for
