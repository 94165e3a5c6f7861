"""Applying: pushed mutations become versions, each with the permissions of the user who pushed it.

`authorise` is called when a mutation is applied, on the thread that runs it. A mutation that it refuses is rejected
with a stored error. Where `authorise` fails with an OSError, because its own database is unavailable, the mutation
stays in the inbox.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from singletable.documents import Context, InboxRow, Outcome, Submission
from singletable.documents.flows import next_version
from singletable.errors import InvalidRequest, Unavailable
from singletable.flow import Port
from singletable.foundation import ready
from singletable.sync.access import Access, Authoriser

Result = Callable[[Awaitable[bool]], bool]
"""Returns the result of an async `authorise` to the thread that runs the mutations."""
OnUnknown = Callable[[InboxRow], object]
"""Called with each mutation that this program has no function for: it waits for a newer program."""


@dataclass(frozen=True)
class Applier:
    """Applies the mutations in the inboxes of one document class."""

    context: Context[Any]
    authorise: Authoriser

    async def next(
        self, port: Port, document_id: str, result: Result | None = None, on_unknown: OnUnknown | None = None
    ) -> list[Outcome]:
        """Commit one version, of up to 40 mutations. Returns [] where no mutation can be applied."""
        await ready(port, self.context.model.table)
        context = replace(self.context, authorise=self._authorised(document_id, result))
        return await next_version(port, context, document_id, on_unknown)

    async def all(self, port: Port, document_id: str, on_unknown: OnUnknown | None = None) -> list[Outcome]:
        """Commit versions until no mutation can be applied. Returns what this call applied or rejected."""
        done: list[Outcome] = []
        while more := await self.next(port, document_id, on_unknown=on_unknown):
            done += more
        return done

    def _authorised(self, document_id: str, result: Result | None) -> Callable[[Submission, Any], None]:
        own = self.context.authorise

        def check(submission: Submission, draft: Any) -> None:
            access = Access(submission.mutation.name, msgspec.json.decode(submission.mutation.arguments))
            if not self._may(submission.principal or "", document_id, access, result):
                raise InvalidRequest("the user is not allowed to do this", operation=submission.mutation.name)
            if own is not None:
                own(submission, draft)

        return check

    def _may(self, user: str, document_id: str, access: Access, result: Result | None) -> bool:
        try:
            returned: Any = self.authorise(user, document_id, access)
            if not inspect.isawaitable(returned):
                return bool(returned)
            if result is None:
                _close(returned)
                raise _not_authorised("it is async, and there is no event loop", access)
            return result(returned)
        except OSError as error:
            raise _not_authorised(type(error).__name__, access) from error


def _close(returned: Any) -> None:
    if inspect.iscoroutine(returned):
        returned.close()


def _not_authorised(why: str, access: Access) -> Unavailable:
    return Unavailable(
        f"authorise failed: {why}",
        operation=access.mutation,
        hint="The mutation was neither applied nor rejected; it stays in the inbox.",
    )
