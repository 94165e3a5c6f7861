"""Who asks, and what they may do: the two questions that only the application can answer.

    async def authenticate(request: HttpRequest) -> str | None: ...        # a user, or None: 401
    async def authorise(user: str, project: str, access: Access) -> bool: ...

Either may be a plain function where it waits for nothing. Reads are asked about at each push, pull and stream of pokes,
mutations when they are applied, which may be later and in another process: what counts is what holds then.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True)
class HttpRequest:
    """What is known of a request before its body is read. Names of headers are in lower case; cookies are in theirs."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]


@dataclass(frozen=True)
class Access:
    """What a user asks for: to read a project, or to have a mutation of this name and with these arguments applied."""

    mutation: str = ""
    args: Any = None

    @property
    def is_read(self) -> bool:
        return not self.mutation


READ = Access()

Authenticate = Callable[[HttpRequest], Awaitable[str | None] | str | None]
Authorise = Callable[[str, str, Access], Awaitable[bool] | bool]
Create = Callable[[str, str], Awaitable[str | None] | str | None]
"""Of a user and a project that is not there: the organisation to make it in, or None to leave it missing."""


async def answer_of(said: Awaitable[T] | T) -> T:
    """What an application's function said, awaited where it is async."""
    result: Any = said
    return cast("T", await result if inspect.isawaitable(result) else result)
