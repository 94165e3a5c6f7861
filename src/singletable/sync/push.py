"""Push: mutations of a client into the inbox of a project, durable when it is answered.

Whose the group and the clients are is settled first. Each mutation is stored with the user who pushed it, and it is
that user who is asked about when it is applied. One with a flaw is stored too, as one that can only be rejected: its
number is used up, so that those after it are not held up. What comes after a missing id is not stored, as nobody could
apply it: a client sends all that is not confirmed, in order, so that no client of the protocol leaves a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from singletable.documents.context import Home
from singletable.documents.flows import client_rows
from singletable.documents.mutations import Mutation, Submission
from singletable.documents.submission import refs_in, submit_in_order
from singletable.flow import Port
from singletable.sync.client_groups import Bindings, GroupKeys, Owner, bind_clients, bind_group
from singletable.sync.protocol import CLIENT_STATE_NOT_FOUND, Push, Pushed, Refusal

FLAW = "$flaw"
"""The only argument of a mutation whose own could not be taken; no mutator has a parameter of that name."""
NAMELESS = "$nameless"
"""The name of a mutation that can only be rejected and has none that is known; no mutator has it."""


@dataclass(frozen=True)
class Pushing:
    """What became of a push."""

    refusal: Refusal | None = None
    """The group or a client is another's, or unknown. Nothing was taken in."""
    left: int = 0
    """Mutations that were not taken in, as they come after an id that is missing, or are too far ahead."""


@dataclass(frozen=True)
class Pusher:
    """What pushes of one document class need."""

    home: Home[Any]
    keys: GroupKeys
    seen: Bindings

    async def push(self, port: Port, user: str, project: str, asked: Push) -> Pushing:
        """Take a push in; durable when it returns. NotFound where there is no such project.

        Four round trips, once the group and its clients are known; one more where mutations of the same clients wait.
        """
        owner = Owner(user, self.home.model.words.document, project)
        if not await bind_group(port, self.keys, self.seen, asked.group, owner):
            return Pushing(CLIENT_STATE_NOT_FOUND)
        once = {(each.client, each.id): each for each in reversed(asked.mutations)}
        first_ids = {client: min(id for c, id in once if c == client) for client, _ in once}

        async def recorded(clients: Sequence[str]) -> set[str]:
            return set(await client_rows(port, self.home, project, clients))

        if not await bind_clients(port, self.keys, self.seen, asked.group, first_ids, recorded):
            return Pushing(CLIENT_STATE_NOT_FOUND)
        if not once:
            return Pushing()
        submissions = [self._submission(each, user) for each in _in_order(once.values())]
        return Pushing(left=len(await submit_in_order(port, self.home, project, submissions)))

    def _submission(self, pushed: Pushed, user: str) -> Submission:
        if pushed.flaw:
            mutation = self._flawed(pushed.name, pushed.flaw)
        else:
            mutation = Mutation.of(pushed.name, pushed.args)
            if len(mutation.arguments.encode()) > self.home.model.bounds.argument_bytes:
                most = self.home.model.bounds.argument_bytes
                mutation = self._flawed(pushed.name, f"its arguments are over {most} bytes")
            elif refs_in(mutation.arguments):  # a client says what contents are, never where they lie
                mutation = self._flawed(pushed.name, "its arguments name a blob")
        return mutation.by(pushed.client, pushed.id, principal=user)

    def _flawed(self, name: str, flaw: str) -> Mutation:
        """Under a name that no program can have where this one has no such mutation: it is to wait for none."""
        return Mutation.of(name if name in self.home.model.mutators else NAMELESS, {FLAW: flaw})


def _in_order(pushed: Iterable[Pushed]) -> list[Pushed]:
    return sorted(pushed, key=lambda each: each.id)
