"""Scientific streams, without Spark: items with vectors, functions over them, flows."""

from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.vectors import Kind, Vectors
from penstock.functions.data.windows import current_window, sliding_window, time_window
from penstock.functions.flows.flow import Dataflow
from penstock.functions.flows.run import Delivered, Runner
from penstock.functions.flows.templates import (
    auto,
    central,
    parallel,
    partition,
    pcc,
    pipe,
    replicated,
    window_distribute,
    window_split,
)
from penstock.functions.library.declare import stream_function
from penstock.functions.library.fourier import fft3, fft3_combine, fft3_part
from penstock.functions.library.partitions import hash_part, rr_part
from penstock.functions.library.registry import Registry
from penstock.functions.library.signals import identity, magnitude, polarize, xchannel, xmagn
from penstock.functions.library.splits import (
    block_part,
    concat_combine,
    convolve,
    matmul,
    matmul_part,
    overlap_add,
    sort,
    sort_combine,
)
from penstock.functions.library.window_functions import (
    sample,
    time_aggregate,
    time_windows,
    window_aggregate,
)
from penstock.functions.operators.function import BRANCH, Call, Function, Parameter, Role, Split
from penstock.functions.operators.guard import Made
from penstock.functions.operators.os_join import os_join
from penstock.functions.operators.s_merge import s_merge

__all__ = [
    "BRANCH",
    "Call",
    "Dataflow",
    "Delivered",
    "Function",
    "Items",
    "Kind",
    "Made",
    "Parameter",
    "Registry",
    "Role",
    "Runner",
    "Split",
    "StreamType",
    "Vectors",
    "auto",
    "block_part",
    "central",
    "concat_combine",
    "convolve",
    "current_window",
    "fft3",
    "fft3_combine",
    "fft3_part",
    "hash_part",
    "identity",
    "magnitude",
    "matmul",
    "matmul_part",
    "os_join",
    "overlap_add",
    "parallel",
    "partition",
    "pcc",
    "pipe",
    "polarize",
    "replicated",
    "rr_part",
    "s_merge",
    "sample",
    "sliding_window",
    "sort",
    "sort_combine",
    "stream_function",
    "time_aggregate",
    "time_window",
    "time_windows",
    "window_aggregate",
    "window_distribute",
    "window_split",
    "xchannel",
    "xmagn",
]
