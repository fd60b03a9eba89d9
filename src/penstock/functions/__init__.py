"""Scientific streams, without Spark: items with vectors, functions over them, flows."""

from penstock.functions.declare import stream_function
from penstock.functions.flow import Dataflow
from penstock.functions.fourier import fft3, fft3_combine, fft3_part
from penstock.functions.function import BRANCH, Call, Function, Parameter, Role, Split
from penstock.functions.guard import Made
from penstock.functions.items import Items
from penstock.functions.os_join import os_join
from penstock.functions.partitions import hash_part, rr_part
from penstock.functions.registry import Registry
from penstock.functions.run import Delivered, Runner
from penstock.functions.s_merge import s_merge
from penstock.functions.signals import identity, magnitude, polarize, xchannel, xmagn
from penstock.functions.splits import (
    block_part,
    concat_combine,
    convolve,
    matmul,
    matmul_part,
    overlap_add,
    sort,
    sort_combine,
)
from penstock.functions.templates import (
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
from penstock.functions.types import StreamType
from penstock.functions.vectors import Kind, Vectors
from penstock.functions.window_functions import (
    sample,
    time_aggregate,
    time_windows,
    window_aggregate,
)
from penstock.functions.windows import current_window, sliding_window, time_window

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
