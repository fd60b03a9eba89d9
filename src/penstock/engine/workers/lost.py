"""A branch that was not done in time: what it had to do is held, and the others go on."""

import time
from dataclasses import replace

from penstock.engine.workers.held import held_items
from penstock.engine.workers.task import TaskInput, TaskResult
from penstock.functions.data.items import Items
from penstock.functions.flows.program import Program, run_program
from penstock.functions.operators.function import Role
from penstock.functions.operators.operator import InputItems, Withheld

LOST = "it was not done in time"


def lost(work: TaskInput) -> TaskResult:
    """Return that a task was not done in time."""
    return TaskResult({}, work.states, (), (), lost=LOST)


def given_up(work: TaskInput, result: TaskResult) -> TaskResult:
    """Return the result of a lost task as one that gave nothing, and holds all that it had to do.

    Its partition functions are done here, so that the next share begins where this one ended. What
    its other functions keep stays as it was.
    """
    splits = _splits(work.program)
    states, share = dict(work.states), list(work.at_hand.values())
    if splits is not None:
        ran = run_program(splits, work.states, work.at_hand, work.now, time.perf_counter)
        states |= ran.states
        share = list(ran.out.values())
    sites = {n: each.site for n, each in zip(work.program.numbers, work.program.nodes, strict=True)}
    last = work.program.numbers[-1]
    name = work.program.nodes[-1].call.function.name
    lost = [
        Withheld("lost", name, result.lost, arrival.items, last)
        for arrival in share
        if len(arrival.items)
    ]
    progress = min(arrival.progress for arrival in work.arrivals.values())
    kinds = dict(zip(work.program.numbers, work.program.operators, strict=True))
    out = {n: InputItems(Items.none(kinds[n].type), progress) for n in work.program.ways_out}
    return replace(result, out=out, states=states, held=held_items(lost, sites))


def _splits(program: Program) -> Program | None:
    """Return the partition functions of a task, which give it its share."""
    places = [at for at, node in enumerate(program.nodes) if node.call.role is Role.PARTITION]
    if not places:
        return None
    numbers = tuple(program.numbers[at] for at in places)
    read = {source for at in places for source in program.nodes[at].inputs}
    return Program(
        numbers,
        tuple(program.nodes[at] for at in places),
        tuple(program.operators[at] for at in places),
        tuple(number for number in numbers if number not in read),
        tuple(each for each in program.types_in if each[0] in read),
    )
