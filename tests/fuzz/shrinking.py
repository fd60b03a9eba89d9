"""Makes a case smaller as long as it stays wrong: fewer queries, rows, columns."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.case import Case, Relation

IsWrong = Callable[[Case], bool]


def shrink(case: Case, is_wrong: IsWrong, query: str, seconds: float = 90.0) -> Case:
    """Return the smallest case that was found in time."""
    until = time.monotonic() + seconds
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in _smaller(case, query):
            if time.monotonic() > until:
                return case
            if is_wrong(smaller):
                case, is_smaller = smaller, True
                break
    return case


def _smaller(case: Case, query: str) -> Iterator[Case]:
    """Yield smaller cases, the boldest first."""
    kept = [each for each in case.queries if each.name == query]
    if len(case.queries) > 1:
        yield replace(case, queries=tuple(kept))
        for gone in case.queries:
            if gone.name != query:
                yield replace(case, queries=tuple(q for q in case.queries if q is not gone))
    for place, stream in enumerate(case.streams):
        for smaller in _fewer_rows(stream):
            streams = (*case.streams[:place], smaller, *case.streams[place + 1 :])
            yield replace(case, streams=streams)
    for place, stream in enumerate(case.streams):
        for smaller in _fewer_columns(stream):
            streams = (*case.streams[:place], smaller, *case.streams[place + 1 :])
            yield replace(case, streams=streams)


def _fewer_rows(stream: Relation) -> Iterator[Relation]:
    count = len(stream.rows)
    if not count:
        return
    yield replace(stream, rows=())
    size = count // 2
    while size:
        for at in range(0, count, size):
            yield replace(stream, rows=stream.rows[:at] + stream.rows[at + size :])
        size = size // 2 if count > 3 else 0


def _fewer_columns(stream: Relation) -> Iterator[Relation]:
    for place, gone in enumerate(stream.fields):
        if gone.name != stream.time:
            fields = tuple(each for each in stream.fields if each is not gone)
            rows = tuple(row[:place] + row[place + 1 :] for row in stream.rows)
            yield replace(stream, fields=fields, rows=rows)
