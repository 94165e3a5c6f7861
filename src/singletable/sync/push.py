"""Push: a client's mutations go to the inbox of a document, where they are durable before the answer.

The owners of the group and its clients are checked first. Each mutation is stored with the user who pushed it, and is
authorised for that user when it is applied. A mutation with a flaw is stored so that it will be rejected: that consumes
its id, and the mutations after it go on.

A client sends all unconfirmed mutations in order. So a mutation that comes after an id that is neither applied nor in
the inbox has lost what was before it: the table was restored. It could never be applied. Nothing of its push is stored,
and its client group is told that it is unknown.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from singletable.documents import Context, Mutation, Submission
from singletable.documents.flows import flawed, refs_in, submit_in_order
from singletable.events import ClientResetNeeded
from singletable.flow import Port
from singletable.sync.client_groups import Bindings, ClientGroupOwner, GroupKeys, bind_clients, bind_group
from singletable.sync.protocol import CLIENT_STATE_NOT_FOUND, Push, Pushed, Refusal

NAMELESS = "$nameless"
"""The name of a flawed mutation without a known name; no mutator has it."""
_LOST = (
    "a push was refused: a client is in another group, or its mutations do not follow those that are stored, as after "
    "the table was restored"
)


@dataclass(frozen=True)
class PushResult:
    """The result of a push."""

    refusal: Refusal | None = None
    """The group or a client is unknown, or belongs to another user, or a mutation comes after a missing one. Nothing
    was stored."""
    skipped: int = 0
    """The number of mutations not stored: they are too far ahead of the last one that was applied."""


@dataclass(frozen=True)
class Pusher:
    """Stores the pushes of one document class."""

    context: Context[Any]
    keys: GroupKeys
    seen: Bindings

    async def push(self, port: Port, user: str, document_id: str, asked: Push) -> PushResult:
        """Store a push; it is durable afterwards. Raises NotFound if the document is missing.

        Two round trips for a known group and known clients. One more where a client has none of its mutations applied
        yet, and two where the inbox holds some of its mutations. Two for each new client.
        """
        owner = ClientGroupOwner(user, self.context.model.words.document, document_id)
        if not await bind_group(port, self.keys, self.seen, asked.group, owner):
            return PushResult(CLIENT_STATE_NOT_FOUND)
        once = {(mutation.client, mutation.id): mutation for mutation in reversed(asked.mutations)}
        first_ids = {client: min(id for c, id in once if c == client) for client, _ in once}
        if not once:
            return PushResult()
        submissions = [
            self._submission(mutation, user) for mutation in sorted(once.values(), key=lambda mutation: mutation.id)
        ]

        async def admit(recorded: Collection[str]) -> bool:
            return await bind_clients(port, self.keys, self.seen, asked.group, owner, first_ids, recorded)

        skipped = await submit_in_order(port, self.context, document_id, submissions, admit)
        if skipped is None:
            fields = self.context.event_fields(port.events, document_id)
            port.events.emit(ClientResetNeeded(**fields, why=_LOST))
            return PushResult(CLIENT_STATE_NOT_FOUND)
        return PushResult(skipped=skipped)

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
        return flawed(name if name in self.context.model.mutators else NAMELESS, flaw)
