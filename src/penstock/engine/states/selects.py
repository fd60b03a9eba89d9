"""Functions in SQL at the sites of a flow: Spark evaluates them, from the driver."""

from dataclasses import replace

import pyarrow as pa

from penstock.engine.spark.spark_errors import condition_of
from penstock.engine.states.state import Run
from penstock.engine.trains.rows import in_memory
from penstock.errors import FunctionError, RunError
from penstock.functions.flows.program import Program
from penstock.functions.operators.operator import FlowOperator
from penstock.functions.operators.select_call import Selecting


def evaluated(program: Program, run: Run) -> Program:
    """Return a program whose SELECTs are answered by the processor of a run."""
    if not any(isinstance(each, Selecting) for each in program.operators):
        return program
    pairs = zip(program.numbers, program.operators, strict=True)
    return replace(program, operators=tuple(_evaluated(n, each, run) for n, each in pairs))


def _evaluated(number: int, operator: FlowOperator, run: Run) -> FlowOperator:
    if not isinstance(operator, Selecting):
        return operator
    view = run.view(f"select{number}")  # branches are at work at the same time

    def evaluate(select: Selecting, table: pa.Table) -> pa.Table:
        leaves = {view: ([in_memory(table)], select.schema_in)}
        try:
            return run.select(select.statement(view), leaves, select.schema_out, single=False)
        except RunError as error:
            if not isinstance(error.__cause__, Exception) or not condition_of(error.__cause__):
                raise  # Spark failed, not the function
            raise FunctionError(error.message) from error

    return replace(operator, evaluate=evaluate)
