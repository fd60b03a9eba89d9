"""What a run of a unit gives for each of its roots, whatever the unit keeps."""

from collections.abc import Mapping, Sequence

from penstock.engine.states.joins.kept_rows import in_order
from penstock.engine.states.sharing.together import BundleMembers
from penstock.engine.states.state import Punctuated, Run, RunOutput, State
from penstock.plan.operators.orders import orders_of
from penstock.plan.select.punctuation import carried
from penstock.plan.sharing.units import Unit

AnyState = State | BundleMembers | None  # None: each run stands for itself


def steps_of(state: AnyState, run: Run, punctuations: Mapping[str, str]) -> dict[str, RunOutput]:
    """Take the run's tuples in and return what they lead to, by root; all or nothing.

    `punctuations` are what leaves said at the end of the run, by their keys.
    """
    if isinstance(state, BundleMembers):
        return state.steps(run)
    if state is None:
        # Joins without windows go by the order of arrival.
        rows = in_order(run).rows if orders_of(run.unit.root) else run.rows
        made = run.processor.train(run.unit, rows, run.outlook)
        return {run.unit.key: RunOutput.of(made, run.unit.root.schema)}
    conditions = _conditions(run.unit, punctuations) if punctuations else {}
    # A punctuation comes alone, in a run without tuples: it holds for what came before it.
    if conditions and not run.count and isinstance(state, Punctuated):
        return {run.unit.key: state.punctuate(run, conditions)}
    return {run.unit.key: state.step(run)}


def promises_of(state: AnyState, unit: Unit, marks: Sequence[int]) -> dict[str, int]:
    """Return the watermark of each root when the inputs of what is kept have these."""
    if isinstance(state, BundleMembers):
        return state.promises(marks)
    return {unit.key: marks[0] if state is None else state.promise(marks)}


def _conditions(unit: Unit, punctuations: Mapping[str, str]) -> dict[int, str]:
    """Return what is known to come no more on inputs of the stateful operator, by their places."""
    inputs = unit.stateful.inputs if unit.stateful is not None else ()
    found = ((place, carried(each, punctuations)) for place, each in enumerate(inputs))
    return {place: condition for place, condition in found if condition}
