"""Firings: what rules have still to do, and what they could not do, in one SQLite file.

A firing is the tuples of one trigger batch for one action of one rule. It is put down together with
the number of its trigger batch, so that a trigger batch which comes again after a crash adds
nothing, and is gone once it is done: what is here is what is left. An INSERT notes, before it
appends, where it will append: after a crash that tells whether it did.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.database import Database, DatabaseFormat
from penstock.runtime.durable.pending_action import Fired, Intent, PendingAction, RuleFigures, kept

FORMAT = DatabaseFormat(
    "the file of pending actions",
    """
CREATE TABLE firings (
    id INTEGER PRIMARY KEY AUTOINCREMENT, rule TEXT NOT NULL, action INTEGER NOT NULL,
    dead INTEGER NOT NULL, at REAL NOT NULL, depth INTEGER NOT NULL, count INTEGER NOT NULL,
    done INTEGER NOT NULL, tries INTEGER NOT NULL, due REAL NOT NULL, cause TEXT NOT NULL,
    rows BLOB NOT NULL, origin INTEGER, skipped INTEGER NOT NULL DEFAULT 0,
    stream TEXT, position INTEGER, taken INTEGER);
CREATE INDEX lanes ON firings (dead, rule, action, id);
CREATE TABLE places (occasion TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE counters (
    rule TEXT PRIMARY KEY, fired INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0,
    held_back INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0, cause TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
""",
)
COLUMNS = (
    "id, rule, action, at, depth, count, done, tries, due, cause, rows, "
    "coalesce(origin, id), skipped"
)
COUNTERS = ("fired", "done", "held_back", "failures", "lost")


class PendingActions:
    """Safe in many threads; one process at a time (the home's lock sees to it)."""

    def __init__(self, path: Path) -> None:
        self._file = Database(path, FORMAT)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # -- trigger batches -----------------------------------------------------------------------

    def put(
        self,
        trigger_batch: str,
        number: int,
        fired: Sequence[Fired],
        now: float,
        *,
        once: bool = False,
    ) -> bool:
        """Keep what a trigger batch has fired; False where that was done before.

        Where it must not be asked again (`once`), it is noted also that it has fired nothing.
        """
        with self._file.transaction():
            if number <= self.place(trigger_batch):
                return False
            for each in fired:
                self._put(each, now)
            if fired or once:
                self._file.execute(
                    "INSERT INTO places VALUES (?1, ?2) "
                    "ON CONFLICT (occasion) DO UPDATE SET number = ?2",
                    trigger_batch,
                    number,
                )
        return True

    def place(self, trigger_batch: str) -> int:
        """Return the number of the last trigger batch that fired, or was to be asked once."""
        found = self._file.rows("SELECT number FROM places WHERE occasion = ?", trigger_batch)
        return int(found[0][0]) if found else 0

    def forget_place(self, trigger_batch: str) -> None:
        """Reset the numbers of a trigger reader."""
        self._file.execute("DELETE FROM places WHERE occasion = ?", trigger_batch)

    def asked(
        self, pending_action: PendingAction, fired: Sequence[Fired], count: int, now: float
    ) -> None:
        """Keep what asking the condition again about dead letters has fired; these are done."""
        with self._file.transaction():
            for each in fired:
                self._put(each, now)
            self._pass(pending_action.id, count)

    def _put(self, fired: Fired, now: float) -> None:
        count = fired.rows.num_rows
        if fired.cause:
            self._count(fired.rule, "failures", 1, fired.cause)
            self._insert(fired, fired.rows, now, fired.cause)
            self._trim(fired.rule, fired.most)
            return
        if fired.first:
            self._count(fired.rule, "fired", count)
        fits = min(count, max(0, fired.room))
        if fits:
            self._insert(fired, fired.rows.slice(0, fits), now)
        if fits < count:
            self._count(fired.rule, "held_back", count - fits)
            self._insert(fired, fired.rows.slice(fits), now, "too many wait for this action")

    def _insert(self, fired: Fired, rows: pa.Table, now: float, dead: str = "") -> None:
        self._file.execute(
            "INSERT INTO firings (rule, action, dead, at, depth, count, done, tries, due, cause, "
            "rows) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?)",
            *(fired.rule, fired.action, bool(dead), now, fired.depth, rows.num_rows),
            *(dead, kept(rows)),
        )

    # -- lanes: one action of one rule ---------------------------------------------------

    def lanes(self) -> dict[tuple[str, int], float]:
        """Return the lanes in which something waits, and when the first of it is due."""
        found = self._file.rows(
            "SELECT rule, action, min(id), due FROM firings WHERE dead = 0 GROUP BY rule, action"
        )
        return {(rule, action): due for rule, action, _, due in found}

    def next(self, rule: str, action: int) -> PendingAction | None:
        """Return the oldest firing that waits in a lane."""
        found = self._file.rows(
            f"SELECT {COLUMNS} FROM firings WHERE dead = 0 AND rule = ? AND action = ? "
            "ORDER BY id LIMIT 1",
            *(rule, action),
        )
        return PendingAction(*found[0]) if found else None

    def waiting(self, rule: str, action: int) -> int:
        """Return how many tuples wait in a lane."""
        found = self._file.rows(
            "SELECT coalesce(sum(count - done), 0) FROM firings "
            "WHERE dead = 0 AND rule = ? AND action = ?",
            *(rule, action),
        )
        return int(found[0][0])

    def did(self, pending_action: PendingAction, count: int) -> None:
        """Note that so many more of a firing's tuples are done."""
        with self._file.transaction():
            self._count(pending_action.rule, "done", count)
            self._pass(pending_action.id, count)

    def intend(self, pending_action: PendingAction, stream: str, position: int, taken: int) -> None:
        """Note that tuples are about to be appended behind a position of a stream."""
        self._file.execute(
            "UPDATE firings SET stream = ?, position = ?, taken = ? WHERE id = ?",
            *(stream, position, taken, pending_action.id),
        )

    def intents(self) -> list[Intent]:
        """Return what was about to be appended when everything stopped."""
        found = self._file.rows(
            "SELECT id, stream, position, taken FROM firings WHERE stream IS NOT NULL"
        )
        return [Intent(*each) for each in found]

    def settle(self, intent: Intent, *, happened: bool) -> None:
        """Note of an intent that it happened, or that it did not."""
        with self._file.transaction():
            found = self._file.rows("SELECT rule FROM firings WHERE id = ?", intent.id)
            if happened and found:
                self._count(found[0][0], "done", intent.taken)
                self._pass(intent.id, intent.taken)
            else:
                self._file.execute("UPDATE firings SET stream = NULL WHERE id = ?", intent.id)

    def failed(self, pending_action: PendingAction, cause: str, due: float) -> None:
        """Note that a try failed; it is due again later."""
        with self._file.transaction():
            self._count(pending_action.rule, "failures", 1, cause)
            self._file.execute(
                "UPDATE firings SET tries = tries + 1, due = ?, cause = ?, stream = NULL "
                "WHERE id = ?",
                *(due, cause, pending_action.id),
            )

    def bury(
        self,
        pending_action: PendingAction,
        count: int,
        cause: str,
        *,
        most: int,
        counter: str = "failures",
    ) -> None:
        """Make the next tuples of a firing dead letters; of the oldest only so many stay."""
        with self._file.transaction():
            self._count(pending_action.rule, counter, 1 if counter == "failures" else count, cause)
            self._file.execute(
                "INSERT INTO firings (rule, action, dead, at, depth, count, done, tries, due, "
                "cause, rows, origin, skipped) VALUES (?, ?, 1, ?, ?, ?, 0, ?, 0, ?, ?, ?, ?)",
                *(
                    pending_action.rule,
                    pending_action.action,
                    pending_action.at,
                    pending_action.depth,
                    count,
                    pending_action.tries + 1,
                ),
                *(cause, kept(pending_action.rows.slice(0, count))),
                *(pending_action.origin, pending_action.skipped + pending_action.done),
            )
            self._pass(pending_action.id, count)
            self._trim(pending_action.rule, most)

    def held_back(self, rule: str, count: int) -> None:
        """Count tuples that wait because of a rate."""
        with self._file.transaction():
            self._count(rule, "held_back", count)

    def _pass(self, pending_action: int, count: int) -> None:
        self._file.execute(
            "UPDATE firings SET done = done + ?, tries = 0, due = 0, stream = NULL WHERE id = ?",
            *(count, pending_action),
        )
        self._file.execute("DELETE FROM firings WHERE id = ? AND done >= count", pending_action)

    def _trim(self, rule: str, most: int) -> None:
        dead = self._file.rows(
            "SELECT id, count FROM firings WHERE dead = 1 AND rule = ? ORDER BY id", rule
        )
        excess = sum(count for _, count in dead) - most
        for id_, count in dead:
            if excess <= 0:
                return
            self._file.execute("DELETE FROM firings WHERE id = ?", id_)
            self._count(rule, "lost", count)
            excess -= count

    # -- rules ---------------------------------------------------------------------------

    def dead(self, rule: str) -> list[PendingAction]:
        """Return a rule's dead letters, the oldest first."""
        found = self._file.rows(
            f"SELECT {COLUMNS} FROM firings WHERE dead = 1 AND rule = ? ORDER BY id", rule
        )
        return [PendingAction(*each) for each in found]

    def retry(self, rule: str) -> int:
        """Retry a rule's dead letters; return how many tuples they are."""
        with self._file.transaction():
            found = self._file.rows(
                "SELECT coalesce(sum(count), 0) FROM firings WHERE dead = 1 AND rule = ?", rule
            )
            self._file.execute(
                "UPDATE firings SET dead = 0, tries = 0, due = 0, depth = 0 "
                "WHERE dead = 1 AND rule = ?",
                rule,
            )
        return int(found[0][0])

    def figures(self, rule: str) -> RuleFigures:
        """Return what a rule has done and not done."""
        return self._figures("WHERE rule = ?", rule).get(rule, RuleFigures())

    def all_figures(self) -> dict[str, RuleFigures]:
        """Return what each rule has done and not done, but for rules that never fired."""
        return self._figures("")

    def _figures(self, where: str, *values: str) -> dict[str, RuleFigures]:
        with self._file.transaction():  # both at one moment
            names = ", ".join(COUNTERS)
            counted = self._file.rows(f"SELECT rule, {names}, cause FROM counters {where}", *values)
            left = self._file.rows(
                f"SELECT rule, dead, sum(count - done) FROM firings {where} GROUP BY rule, dead",
                *values,
            )
        found: dict[str, dict[str, Any]] = {}
        for rule, *told in counted:
            found[rule] = dict(zip((*COUNTERS, "cause"), told, strict=True))
        for rule, dead, count in left:
            found.setdefault(rule, {})["dead" if dead else "waiting"] = count
        return {rule: RuleFigures(**each) for rule, each in found.items()}

    def forget(self, rule: str) -> None:
        """Forget everything of a rule."""
        with self._file.transaction():
            self._file.execute("DELETE FROM firings WHERE rule = ?", rule)
            self._file.execute("DELETE FROM counters WHERE rule = ?", rule)

    def rules(self) -> set[str]:
        """Return the rules of which anything is known."""
        found = self._file.rows("SELECT rule FROM firings UNION SELECT rule FROM counters")
        return {rule for (rule,) in found}

    def _count(self, rule: str, counter: str, count: int, cause: str = "") -> None:
        self._file.execute("INSERT OR IGNORE INTO counters (rule) VALUES (?)", rule)
        self._file.execute(
            f"UPDATE counters SET {counter} = {counter} + ? WHERE rule = ?", count, rule
        )
        if cause:
            self._file.execute("UPDATE counters SET cause = ? WHERE rule = ?", cause, rule)
