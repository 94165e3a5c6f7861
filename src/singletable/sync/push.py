"""Push: a client's mutations go to the inbox of a document, where they are durable before the answer.

The owners of the group and its clients are checked first. Each mutation is stored with the user who pushed it, and is
authorised for that user when it is applied. A mutation with a flaw is stored so that it will be rejected: that consumes
its id, and the mutations after it go on. A mutation after a missing id is not stored, as it could never be applied. A
client sends all unconfirmed mutations in order, so a client that follows the protocol leaves no gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from singletable.documents import Context, Mutation, Submission
from singletable.documents.flows import client_rows, refs_in, submit_in_order
from singletable.flow import Port
from singletable.sync.client_groups import Bindings, ClientGroupOwner, GroupKeys, bind_clients, bind_group
from singletable.sync.protocol import CLIENT_STATE_NOT_FOUND, Push, Pushed, Refusal

FLAW = "$flaw"
"""The only argument of a flawed mutation; no mutator has a parameter of this name."""
NAMELESS = "$nameless"
"""The name of a flawed mutation without a known name; no mutator has it."""


@dataclass(frozen=True)
class PushResult:
    """The result of a push."""

    refusal: Refusal | None = None
    """The group or a client is unknown, or belongs to another user. Nothing was stored."""
    skipped: int = 0
    """The number of mutations not stored: they come after a missing id, or are too far ahead."""


@dataclass(frozen=True)
class Pusher:
    """Stores the pushes of one document class."""

    context: Context[Any]
    keys: GroupKeys
    seen: Bindings

    async def push(self, port: Port, user: str, document_id: str, asked: Push) -> PushResult:
        """Store a push; it is durable afterwards. Raises NotFound if the document is missing.

        Four round trips for a known group and known clients; one more where the inbox holds mutations of the same
        clients.
        """
        owner = ClientGroupOwner(user, self.context.model.words.document, document_id)
        if not await bind_group(port, self.keys, self.seen, asked.group, owner):
            return PushResult(CLIENT_STATE_NOT_FOUND)
        once = {(mutation.client, mutation.id): mutation for mutation in reversed(asked.mutations)}
        first_ids = {client: min(id for c, id in once if c == client) for client, _ in once}

        async def recorded(clients: Sequence[str]) -> set[str]:
            return set(await client_rows(port, self.context, document_id, clients))

        if not await bind_clients(port, self.keys, self.seen, asked.group, first_ids, recorded):
            return PushResult(CLIENT_STATE_NOT_FOUND)
        if not once:
            return PushResult()
        submissions = [
            self._submission(mutation, user) for mutation in sorted(once.values(), key=lambda mutation: mutation.id)
        ]
        return PushResult(skipped=len(await submit_in_order(port, self.context, document_id, submissions)))

    def _submission(self, pushed: Pushed, user: str) -> Submission:
        if pushed.flaw:
            mutation = self._flawed(pushed.name, pushed.flaw)
        else:
            mutation = Mutation.of(pushed.name, pushed.args)
            if len(mutation.arguments.encode()) > self.context.model.bounds.argument_bytes:
                most = self.context.model.bounds.argument_bytes
                mutation = self._flawed(pushed.name, f"its arguments are over {most} bytes")
            elif refs_in(mutation.arguments):  # a client sends contents, never where they are stored
                mutation = self._flawed(pushed.name, "its arguments name a blob")
        return mutation.by(pushed.client, pushed.id, principal=user)

    def _flawed(self, name: str, flaw: str) -> Mutation:
        """A mutation that will be rejected at once: under an unknown name it would wait for a newer program."""
        return Mutation.of(name if name in self.context.model.mutators else NAMELESS, {FLAW: flaw})
