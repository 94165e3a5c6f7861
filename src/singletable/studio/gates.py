"""The admission of visitors: the owner of a studio on loopback, by a token; or a mounting application's users."""

from __future__ import annotations

import hashlib
import hmac
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, Literal, Protocol, TypeVar, cast

from singletable.errors import InvalidRequest
from singletable.foundation import Table
from singletable.sync import HttpRequest

T = TypeVar("T")
Right = Literal["read", "write"]
Authenticator = Callable[[HttpRequest], Awaitable[str | None] | str | None]
"""The user of a request, or None: 401."""
Authoriser = Callable[[str, type[Any], Right], Awaitable[bool] | bool]
"""Whether a user may read, or write, the items of a class."""
TOKEN = "token"  # noqa: S105 the name of the parameter
OWNER = "owner"


class Gate(Protocol):
    """Admits requests."""

    @property
    def refusal(self) -> tuple[int, str]:
        """Status and text for whom it does not let in."""
        ...

    def knows_host(self, host: str) -> bool: ...

    def knows_origin(self, origin: str, host: str) -> bool: ...

    def cookie_for(self, request: HttpRequest) -> str | None:
        """The `Set-Cookie` for a request that has the token; None for any other."""
        ...

    async def user_of(self, request: HttpRequest) -> str | None: ...

    async def readable(self, user: str, tables: Iterable[Table]) -> frozenset[type[Any]] | None:
        """The classes that a user may read; None for all."""
        ...

    async def may_write(self, user: str, kind: type[Any]) -> bool: ...


@dataclass(frozen=True)
class LoopbackGate:
    """The gate for one person on one machine: the first address has a token, and gives a cookie for it."""

    token: str
    session: str
    port: int

    def __repr__(self) -> str:
        return f"<LoopbackGate of port {self.port}>"

    @property
    def refusal(self) -> tuple[int, str]:
        return 403, "This studio opens by the address that it printed when it was started: its token is part of it."

    @property
    def _hosts(self) -> frozenset[str]:
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    @property
    def _cookie(self) -> str:
        """Cookies know no ports: each studio of a machine has one of its own name."""
        return f"singletable_studio_{self.port}"

    def knows_host(self, host: str) -> bool:
        return host in self._hosts

    def knows_origin(self, origin: str, host: str) -> bool:
        return origin == f"http://{host}"

    def cookie_for(self, request: HttpRequest) -> str | None:
        given = request.query.get(TOKEN)
        if given is None or not _is_same(given, self.token):
            return None
        return f"{self._cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict"

    async def user_of(self, request: HttpRequest) -> str | None:
        given = cookies_of(request.headers).get(self._cookie, "")
        return OWNER if _is_same(given, self.session) else None

    async def readable(self, user: str, tables: Iterable[Table]) -> frozenset[type[Any]] | None:
        return None

    async def may_write(self, user: str, kind: type[Any]) -> bool:
        return True


@dataclass(frozen=True)
class MountedGate:
    """The gate of an application, which names the user and decides what the user may see."""

    authenticate: Authenticator
    authorise: Authoriser
    origins: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name, function in (("authenticate", self.authenticate), ("authorise", self.authorise)):
            if not callable(cast("object", function)):
                raise InvalidRequest(
                    f"a mounted studio needs {name}=, a function",
                    operation="studio",
                    hint="Nobody is let in by default: authenticate(request) returns a user or None, "
                    'authorise(user, kind, right) whether they may "read" or "write" a class.',
                )

    @property
    def refusal(self) -> tuple[int, str]:
        return 401, "You are not signed in here."

    def knows_host(self, host: str) -> bool:
        return True

    def knows_origin(self, origin: str, host: str) -> bool:
        return origin in self.origins or origin in (f"http://{host}", f"https://{host}")

    def cookie_for(self, request: HttpRequest) -> str | None:
        return None

    async def user_of(self, request: HttpRequest) -> str | None:
        return await _resolve(self.authenticate(request))

    async def readable(self, user: str, tables: Iterable[Table]) -> frozenset[type[Any]] | None:
        kinds = [model.kind for table in tables for model in table.models if not model.is_system]
        allowed = frozenset([kind for kind in kinds if await _resolve(self.authorise(user, kind, "read")) is True])
        return None if len(allowed) == len(frozenset(kinds)) else allowed

    async def may_write(self, user: str, kind: type[Any]) -> bool:
        return await _resolve(self.authorise(user, kind, "write")) is True


@dataclass(frozen=True)
class TokenSigner:
    """Texts that only this studio can have made: the tokens of forms, and that a table's name was given."""

    secret: str

    def __repr__(self) -> str:
        return "<Signer>"

    def text(self, *parts: str) -> str:
        message = "\0".join(parts).encode()
        return hmac.new(self.secret.encode(), message, hashlib.sha256).hexdigest()

    def is_text(self, given: str, *parts: str) -> bool:
        return _is_same(given, self.text(*parts))


def cookies_of(headers: Mapping[str, str]) -> dict[str, str]:
    """The cookies of a request; none where the header can't be read."""
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())


async def _resolve(returned: Awaitable[T] | T) -> T:
    result: Any = returned
    return cast("T", await result if inspect.isawaitable(result) else result)
