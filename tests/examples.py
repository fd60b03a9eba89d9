"""How many examples a law looks at: few by default, all of them in `make test-nightly`."""

import os

import pytest

# Of the number that a law asks for. Each run looks at the same ones, unless hypothesis explores.
SHARE = float(os.environ.get("PENSTOCK_EXAMPLES", "0.2"))
FEWEST = 5
IS_WHOLE = SHARE >= 1  # every case of tests that otherwise take one of each class
# For what takes long and proves a second time what another test has proved.
NIGHTLY = pytest.mark.skipif(not IS_WHOLE, reason="make test-nightly does it")


def examples(count: int) -> int:
    """Return how many of so many examples this run looks at."""
    return min(count, max(FEWEST, round(count * SHARE)))
