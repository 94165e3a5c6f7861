"""Applying: pushed mutations become versions, each with the permissions and the view of the user who pushed it.

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
from singletable.sync.access import Access, Authoriser, Viewer
from singletable.sync.views import restrict_draft

Result = Callable[[Awaitable[Any]], Any]
"""Returns the result of an async `authorise` or `view` to the thread that runs the mutations."""
OnUnknown = Callable[[InboxRow], object]
"""Called with each mutation that this program has no function for: it waits for a newer program."""


@dataclass(frozen=True)
class Applier:
    """Applies the mutations in the inboxes of one document class."""

    context: Context[Any]
    authorise: Authoriser
    view: Viewer | None = None

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
            user, name = submission.principal or "", submission.mutation.name
            access = Access(name, msgspec.json.decode(submission.mutation.arguments))
            if not _asked("authorise", name, lambda: self.authorise(user, document_id, access), result):
                raise InvalidRequest("the user is not allowed to do this", operation=name)
            if own is not None:
                own(submission, draft)
            view = self.view
            if view is not None and submission.principal is not None:
                restrict_draft(draft, _asked("view", name, lambda: view(user, document_id), result))

        return check


def _asked(what: str, mutation: str, ask: Callable[[], Any], result: Result | None) -> Any:
    """Call an application's function from a thread."""
    try:
        returned = ask()
        if not inspect.isawaitable(returned):
            return returned
        if result is None:
            _close(returned)
            raise _unanswered(what, "it is async, and no event loop runs", mutation)
        return result(returned)
    except OSError as error:
        raise _unanswered(what, type(error).__name__, mutation) from error


def _close(returned: Any) -> None:
    if inspect.iscoroutine(returned):
        returned.close()


def _unanswered(what: str, why: str, mutation: str) -> Unavailable:
    return Unavailable(
        f"{what} failed: {why}",
        operation=mutation,
        hint="The mutation was neither applied nor rejected; it stays in the inbox.",
    )
