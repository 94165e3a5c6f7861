"""What people say of a goal: check-ins and comments, which the goal counts in the transaction that writes them.

An entry's id begins with its time, so a page of them is one query, newest first; the goal itself says how many there
are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goals.changes import TRIES, check_differences, differing
from goals.context import Context
from goals.errors import Invalid, Missing
from goals.goal_actions import read_goal
from goals.linking import refusal_of
from goals.model import Entry, EntryKind, Goal, User
from singletable import TransactionCancelled, Update, attr
from singletable.errors import TransactionConflict

MOST_TEXT_CHARACTERS = 5000
_COUNTERS: Mapping[EntryKind, Any] = {EntryKind.CHECK_IN: attr(Goal.check_ins), EntryKind.COMMENT: attr(Goal.comments)}


class Activity(Context):
    def comment(self, goal_id: str, user_id: str, text: str) -> Entry:
        """1 request, a transaction: the comment, 1 more on the goal, and a check of the user. 4 W and 2 for each KB of
        the goal. Missing, Invalid."""
        if not text.strip():
            raise Invalid("a comment says something", "text")
        entry = self._entry(goal_id, user_id, EntryKind.COMMENT, text)
        self._write(entry, [])
        return entry

    def check_in(
        self,
        goal: Goal | str,
        user_id: str,
        *,
        progress: int,
        status: str | None = None,
        text: str = "",
        base: Mapping[str, Any] | None = None,
    ) -> Entry:
        """How far a goal is: its progress and status change in the transaction that writes the check-in. 1 request, 1
        more where the goal is named by its id. With `base`, the values that the caller read, Changed where somebody
        else changed the same. Missing, Invalid."""
        if not 0 <= progress <= 100:
            raise Invalid(f"progress is 0 to 100 percent, not {progress}", "progress")
        found = goal if isinstance(goal, Goal) else read_goal(self, goal)
        said = {"progress": progress} | ({} if status is None else {"status": status})
        wanted = differing(said, base)
        for _ in range(TRIES):
            check_differences(Goal.by_id(found.id), found, wanted, base or {})
            entry = self._entry(found.id, user_id, EntryKind.CHECK_IN, text)
            entry.progress, entry.before = wanted.get("progress", found.progress), found.progress
            entry.status = wanted.get("status", found.status)
            try:
                self._write(
                    entry,
                    [attr(getattr(Goal, name)).set(value) for name, value in wanted.items()],
                    (attr(Goal.progress) == found.progress) & (attr(Goal.status) == found.status),
                )
            except _Outdated:
                found = read_goal(self, found.id)
            else:
                return entry
        raise TransactionConflict("the goal was changed by others again and again", hint="Try again later.")

    def read_entry(self, goal_id: str, entry_id: str) -> Entry:
        """1 request. Missing."""
        found = self.db.get(Entry.of_goal(goal_id, entry_id).consistent())
        if found is None:
            raise Missing("entry", entry_id)
        return found

    def delete_entry(self, entry: Entry) -> None:
        """1 request, a transaction: the goal counts 1 less. A check-in's progress stays. Missing where it is gone."""
        try:
            with self.db.transaction() as tx:
                tx.check(Entry.of_goal(entry.goal_id, entry.id))
                tx.delete(Entry.of_goal(entry.goal_id, entry.id))
                tx.update(Goal.by_id(entry.goal_id), _COUNTERS[entry.kind].add(-1))
        except TransactionCancelled as cancelled:
            raise Missing("entry", entry.id) from cancelled

    def _entry(self, goal_id: str, user_id: str, kind: EntryKind, text: str) -> Entry:
        text = text.strip()
        if len(text) > MOST_TEXT_CHARACTERS:
            raise Invalid(f"a text has at most {MOST_TEXT_CHARACTERS} characters, this one has {len(text)}", "text")
        at = self.now()
        return Entry(
            goal_id=goal_id, id=f"{at:%Y%m%dT%H%M%S.%f}-{self.new_id()}", kind=kind, by=user_id, at=at, text=text
        )

    def _write(self, entry: Entry, updates: list[Update], where: Any = None) -> None:
        try:
            with self.db.transaction() as tx:
                tx.create(entry)
                tx.update(Goal.by_id(entry.goal_id), *updates, _COUNTERS[entry.kind].add(1), where=where)
                tx.check(User.by_id(entry.by))
        except TransactionCancelled as cancelled:
            refusal = refusal_of(cancelled)
            raise (_Outdated() if refusal is cancelled else refusal) from cancelled


class _Outdated(Exception):
    """The goal is not as it was read."""
