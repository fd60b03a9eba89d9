"""Penstock as executors get it: one archive of its sources, shipped by Spark to every worker.

Workers on other machines need Python, PySpark, Arrow and numpy, and no Penstock: what the driver
ships goes before what may be installed there, so that both sides are of one version.
"""

import hashlib
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from pyspark import SparkContext

ROOT = Path(__file__).parents[3]  # the package
SUFFIXES = (".py",)  # data files are read by the driver alone
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same sources are the same archive


def ship(context: SparkContext) -> str:
    """Have Spark give Penstock to the Python workers of other machines, once an application.

    Return the name of what was shipped; nothing is where the workers are the driver's children.
    """
    if is_local(context):
        return ""
    archive = _archive()
    if not any(each.endswith(archive.name) for each in context.listFiles):
        context.addPyFile(str(archive))
    return archive.name


def is_local(context: SparkContext) -> bool:
    """Say whether an application's workers are children of the driver's Java."""
    master = context.master or ""
    return master == "local" or master.startswith("local[")


@cache
def _archive() -> Path:
    """Write the archive; it lies there as long as this process."""
    sources = {
        path.relative_to(ROOT.parent).as_posix(): path.read_bytes()
        for path in sorted(ROOT.rglob("*"))
        if path.suffix in SUFFIXES
    }
    digest = hashlib.sha256(repr(sources).encode()).hexdigest()
    place = Path(_directory().name) / f"{ROOT.name}-{digest[:16]}.zip"
    with zipfile.ZipFile(place, "w") as archive:
        for name, source in sources.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), source, zipfile.ZIP_DEFLATED)
    return place


@cache
def _directory() -> "tempfile.TemporaryDirectory[str]":
    """Return a directory that goes when this process ends."""
    return tempfile.TemporaryDirectory(prefix="penstock-shipped-")
