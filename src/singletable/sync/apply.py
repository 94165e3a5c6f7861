"""Applying: what was pushed becomes versions, each mutation in the name of the user who pushed it.

The application is asked about a mutation at the moment in which it is applied, on the thread that runs it. What it says
no to is rejected with a stored error. Where it can't say, because its own database is away, nothing is decided and the
mutation stays in the inbox.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from singletable.documents import Home, InboxRow, Outcome, Submission
from singletable.documents.flows import next_version
from singletable.errors import InvalidRequest, Unavailable
from singletable.flow import Port
from singletable.foundation import ready
from singletable.sync.access import Access, Authorise

Result = Callable[[Awaitable[bool]], bool]
"""How a thread that runs mutations gets what an async function says."""
OnUnknown = Callable[[InboxRow], object]
"""Called with each mutation that waits for a program which has one of its name."""


@dataclass(frozen=True)
class Applier:
    """Applies what waits in the inboxes of one document class."""

    home: Home[Any]
    authorise: Authorise

    async def next(
        self, port: Port, project: str, result: Result | None = None, on_unknown: OnUnknown | None = None
    ) -> list[Outcome]:
        """One version of what waits, of up to 40 mutations; nothing where nothing can be applied."""
        await ready(port, self.home.model.table)
        home = replace(self.home, authorise=self._asked(project, result))
        return await next_version(port, home, project, on_unknown)

    async def all(self, port: Port, project: str, on_unknown: OnUnknown | None = None) -> list[Outcome]:
        """Version after version, until nothing can be applied; gives what this call applied or rejected."""
        done: list[Outcome] = []
        while more := await self.next(port, project, on_unknown=on_unknown):
            done += more
        return done

    def _asked(self, project: str, result: Result | None) -> Callable[[Submission, Any], None]:
        own = self.home.authorise

        def ask(submission: Submission, draft: Any) -> None:
            access = Access(submission.mutation.name, msgspec.json.decode(submission.mutation.arguments))
            if not self._may(submission.principal or "", project, access, result):
                raise InvalidRequest("the user may not do this", operation=submission.mutation.name)
            if own is not None:
                own(submission, draft)

        return ask

    def _may(self, user: str, project: str, access: Access, result: Result | None) -> bool:
        try:
            said: Any = self.authorise(user, project, access)
            if not inspect.isawaitable(said):
                return bool(said)
            if result is None:
                _close(said)
                raise _not_asked("it is async, and there is no event loop", access)
            return result(said)
        except OSError as error:
            raise _not_asked(type(error).__name__, access) from error


def _close(said: Any) -> None:
    if inspect.iscoroutine(said):
        said.close()


def _not_asked(why: str, access: Access) -> Unavailable:
    return Unavailable(
        f"authorise could not be asked: {why}",
        operation=access.mutation,
        hint="Nothing was decided; the mutation stays in the inbox.",
    )
