"""Scientific streams, without Spark: items with vectors, functions over them, flows."""

from penstock.functions.flow import Dataflow
from penstock.functions.fourier import fft3, fft3_combine, fft3_part
from penstock.functions.function import BRANCH, Call, Function, Parameter, Role
from penstock.functions.guard import Made
from penstock.functions.items import Items
from penstock.functions.os_join import os_join
from penstock.functions.partitions import hash_part, rr_part
from penstock.functions.registry import Registry
from penstock.functions.run import Delivered, Runner
from penstock.functions.s_merge import s_merge
from penstock.functions.templates import (
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
    "StreamType",
    "Vectors",
    "central",
    "current_window",
    "fft3",
    "fft3_combine",
    "fft3_part",
    "hash_part",
    "os_join",
    "parallel",
    "partition",
    "pcc",
    "pipe",
    "replicated",
    "rr_part",
    "s_merge",
    "sliding_window",
    "time_window",
    "window_distribute",
    "window_split",
]
