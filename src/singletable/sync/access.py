"""Authentication and authorisation: the two questions that only the application can answer.

    async def authenticate(request: HttpRequest) -> str | None: ...        # a user, or None: 401
    async def authorise(user: str, project: str, access: Access) -> bool: ...

Each may be a plain function where it doesn't block. A read is authorised at each push, pull and stream of pokes. A
mutation is authorised when it is applied, which may be later and in another process: the permissions of that moment
count.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from singletable.sync.views import View

T = TypeVar("T")


@dataclass(frozen=True)
class HttpRequest:
    """A request without its body. Names of headers are in lower case; cookies are in the header `cookie`."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    query: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class Access:
    """A user's wish: read a document, or apply a mutation with this name and these arguments."""

    mutation: str = ""
    args: Any = field(default=None, repr=False)

    @property
    def is_read(self) -> bool:
        """Whether it is a read, of the document as a whole."""
        return not self.mutation


READ = Access()

Authenticator = Callable[[HttpRequest], Awaitable[str | None] | str | None]
Authoriser = Callable[[str, str, Access], Awaitable[bool] | bool]
CreationRule = Callable[[str, str], Awaitable[str | None] | str | None]
"""Returns the parent under which to create a missing document for a user, or None to leave it missing."""


Viewer = Callable[[str, str], Awaitable[View | None] | View | None]
"""Returns a user's view of a document. None: everything is visible."""


async def resolve(returned: Awaitable[T] | T) -> T:
    """Return the result of an application's function; await it if the function is async."""
    result: Any = returned
    return cast("T", await result if inspect.isawaitable(result) else result)
