"""Push: mutations of a client into the inbox of a project, durable when it is answered.

Whose the group and the clients are is settled first. Each mutation is stored with the user who pushed it, and it is
that user who is asked about when it is applied. One with a flaw is stored too, as one that can only be rejected: its
number is used up, so that those after it are not held up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from singletable.documents.flows import client_rows
from singletable.documents.home import Home
from singletable.documents.mutations import Mutation, Submission
from singletable.documents.submitting import refs_in, submit
from singletable.sync.groups import Bindings, GroupKeys, Owner, bind_clients, bind_group
from singletable.sync.protocol import CLIENT_STATE_NOT_FOUND, Push, Pushed, Refusal
from singletable.wire import Port

FLAW = "$flaw"
"""The only argument of a mutation whose own could not be taken; no mutator has a parameter of that name."""
NAMELESS = "$nameless"
"""The name of a mutation that had none; no mutator has it."""


@dataclass(frozen=True)
class Pusher:
    """What pushes of one document class need."""

    home: Home[Any]
    keys: GroupKeys
    seen: Bindings

    async def push(self, port: Port, user: str, project: str, asked: Push) -> Refusal | None:
        """Take a push in; None when it is durable, a refusal where the group or a client is another's, or unknown.

        Four round trips, once the group and its clients are known. NotFound where there is no such project.
        """
        owner = Owner(user, self.home.model.words.document, project)
        if not await bind_group(port, self.keys, self.seen, asked.group, owner):
            return CLIENT_STATE_NOT_FOUND
        once = {(each.client, each.id): each for each in reversed(asked.mutations)}
        first_ids = {client: min(id for c, id in once if c == client) for client, _ in once}

        async def recorded(clients: Sequence[str]) -> set[str]:
            return set(await client_rows(port, self.home, project, clients))

        if not await bind_clients(port, self.keys, self.seen, asked.group, first_ids, recorded):
            return CLIENT_STATE_NOT_FOUND
        if once:
            await submit(port, self.home, project, [_submission(each, user) for each in _in_order(once.values())])
        return None


def _in_order(pushed: Iterable[Pushed]) -> list[Pushed]:
    return sorted(pushed, key=lambda each: each.id)


def _submission(pushed: Pushed, user: str) -> Submission:
    if pushed.flaw:
        mutation = _flawed(pushed.name, pushed.flaw)
    else:
        mutation = Mutation.of(pushed.name, pushed.args)
        if refs_in(mutation.arguments):  # a client says what contents are, never where they lie
            mutation = _flawed(pushed.name, "its arguments name a blob")
    return mutation.by(pushed.client, pushed.id, principal=user)


def _flawed(name: str, flaw: str) -> Mutation:
    return Mutation.of(name or NAMELESS, {FLAW: flaw})
