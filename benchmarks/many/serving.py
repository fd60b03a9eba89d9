"""A child's side of the talk: commands as JSON lines on its input, answers on its output.

It needs nothing but Python, so that it runs in any environment.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

Handler = Callable[..., dict[str, Any]]


def serve(opened: Callable[[], Mapping[str, Handler]]) -> None:
    """Open a system, then carry out commands until the input ends; errors are answers, too."""
    with os.fdopen(os.dup(1), "w", buffering=1) as answers:
        os.dup2(2, 1)  # what a JVM prints must not stand among the answers
        handlers = opened()
        for line in sys.stdin:
            command = json.loads(line)
            answers.write(json.dumps(_carried_out(handlers, command)) + "\n")


def _carried_out(handlers: Mapping[str, Handler], command: dict[str, Any]) -> dict[str, Any]:
    try:
        return handlers[command.pop("do")](**command)
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:500]}
