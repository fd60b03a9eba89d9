"""Pushes with a key: however often one is repeated, its rows are appended once."""

import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.engine.interfaces.pushed.push import Push
from penstock.errors import BadArgumentError, KeyReusedError, SourceError
from penstock.runtime.durable.push_keys import KnownPush, PushKeys

LONGEST_KEY = 512


@dataclass(frozen=True, slots=True)
class KeyedPushes:
    """Usable from many threads; `source` gives a stream's key and its source, by its name."""

    source: Callable[[str], tuple[str, Push]]
    keys: PushKeys
    _locks: defaultdict[str, threading.Lock] = field(
        default_factory=lambda: defaultdict(threading.Lock)
    )

    def push(self, stream: str, rows: object, key: str, fingerprint: bytes = b"") -> int:
        """Append rows unless they came with this key before; return how many were appended.

        When it returns, rows and key survive the end of this process. Where both times say what
        the rows are by a fingerprint, other rows under the same key are a KeyReusedError; other
        counts always are.
        """
        if not key or len(key) > LONGEST_KEY:
            raise BadArgumentError(f"a key must have 1 to {LONGEST_KEY} characters")
        name, source = self.source(stream)
        table = source.checked(rows)
        push = KnownPush(table.num_rows, fingerprint)
        with self._locks[name]:
            if (known := self.keys.find(name, key)) is not None:
                _refuse_other(known, push)
                return 0
            if not table.num_rows:
                return 0
            try:
                source.append(
                    table,
                    intend=lambda at: self.keys.put(name, key, at, push, to_disk=source.syncs),
                )
            except BaseException:
                with suppress(SourceError):  # one that is closed settles when it is opened
                    self.keys.settle(name, source.rows)
                raise
        return push.rows


def _refuse_other(known: KnownPush, push: KnownPush) -> None:
    """Raise where a key came before with other rows."""
    told = known.fingerprint and push.fingerprint
    if known.rows != push.rows or (told and known.fingerprint != push.fingerprint):
        raise KeyReusedError(
            "the key came before with other rows",
            hint="take a new key for each push, and the same one only to repeat it",
        )
