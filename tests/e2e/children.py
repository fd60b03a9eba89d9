"""Child processes that tests start, listen to and kill."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.e2e.support import PATIENCE

ROOT = Path(__file__).parents[2]
DEFAULTS = {
    "master": "local[2]",
    "rows_a_run": 60,
    "checkpoint_seconds": 0.5,
    "push_from": 0,
    "push_to": 0,
    "all_large": False,
    "hosts": [],
    "journal": None,
}


class Child:
    """A process group of its own that can be killed whole: Python and its Java."""

    def __init__(
        self,
        place: Path,
        told: dict[str, Any],
        surroundings: dict[str, str] | None = None,
        module: str = "tests.e2e.child",
    ) -> None:
        place.mkdir(parents=True, exist_ok=True)
        path = place / "told.json"
        path.write_text(json.dumps(DEFAULTS | told))
        self._errors = (place / "stderr.txt").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(path)],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
            | (surroundings or {}),
            start_new_session=True,
        )
        self.said: list[str] = []
        self._place = place

    def wait_for(self, word: str) -> bool:
        """Read until the child says the word; False where it ends before."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append(line.strip())
            if line.startswith(word):
                return True
        return False

    def kill(self) -> None:
        """Kill the whole group, and take what it had still said."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self.end()

    def end(self) -> int:
        """Wait for the end."""
        # Not communicate(): it reads past the lines that wait_for has in its buffer.
        assert self._process.stdout is not None
        with self._process.stdout as rest:
            self.said += rest.read().split("\n")
        self._process.wait(PATIENCE)
        self._errors.close()
        return self._process.returncode

    def errors(self) -> str:
        return (self._place / "stderr.txt").read_text()
