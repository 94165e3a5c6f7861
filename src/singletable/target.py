"""A database's target, and the options of its connections, as values. Shared by the two shells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from singletable.events import Listeners
from singletable.flow import DECLARED, TableNames, Traits
from singletable.records import CursorSeal
from singletable.wire import Connections, CredentialSource, Endpoint, Locate, PortOptions, RetryPolicy, Timeouts

if TYPE_CHECKING:
    from pathlib import Path

CURSOR_KEYS_VARIABLE = "SINGLETABLE_CURSOR_KEYS"


class RunningEngine(Protocol):
    """An embedded engine, which ends with its last user."""

    @property
    def data(self) -> Path | None:
        """Its file; None of one without."""
        ...

    def stop(self) -> None: ...


class Options(Struct, frozen=True):
    """The options of a database; each has a default. The repr doesn't show cursor keys."""

    region: str | None = None
    credentials: CredentialSource | None = None
    cursor_keys: Sequence[str | bytes] = ()
    retry: RetryPolicy | None = None
    """None: the library's own, with the attempts of AWS_MAX_ATTEMPTS."""
    timeouts: Timeouts = Timeouts()
    connections: Connections = Connections()
    ca_file: str | None = None
    checksum: bool = True
    names: TableNames = DECLARED
    """The names of tables in the account."""
    listeners: Sequence[Callable[[Any], object]] = ()
    """Functions that are called with each event."""
    show_keys: bool = False
    """Whether events, logs and errors have keys in place of their hashes."""
    traits: Traits | None = None
    """The known differences at an address. None: none on AWS; elsewhere nothing is taken for granted, and `db.require`
    finds the engine's capabilities."""
    clock: Callable[[], float] | None = None
    """Seconds since 1970. It decides alone on expiry, leases, due times and the life of cursors, and dates signatures.
    None: the service's time does, as the Date of its answers shows it."""

    def __repr__(self) -> str:
        return f"Options(region={self.region!r}, cursor_keys={len(self.cursor_keys)}, retry={self.retry!r})"


class Target(Struct, frozen=True):
    """A way to the service, found and ready."""

    endpoint: Endpoint
    credentials: CredentialSource
    traits: Traits
    seal: CursorSeal
    locate: Locate
    """The addresses of the account's other services: streams, queues."""
    engine: RunningEngine | None = None
    retry: RetryPolicy = RetryPolicy()
    names: TableNames = DECLARED

    @property
    def place(self) -> str:
        """The identity of the data: the embedded engine's file, or the address; and the names that tables
        have there, where these are not the declared ones."""
        file = None if self.engine is None else self.engine.data
        place = self.endpoint.url if file is None else str(file)
        return f"{place} {self.names.text}" if self.names.text else place


def port_options(target: Target, options: Options) -> PortOptions:
    """The options of a port to the target, for either shell."""
    return PortOptions(
        policy=target.retry,
        timeouts=options.timeouts,
        connections=options.connections,
        traits=target.traits,
        checksum=options.checksum,
        ca_file=options.ca_file,
        locate=target.locate,
        names=target.names,
        events=Listeners(options.listeners, target.seal.secret, shows_keys=options.show_keys),
        now=options.clock,
    )


def seal_of(options: Options, environ: Mapping[str, str], own_key: Callable[[], str] | None = None) -> CursorSeal:
    """The seal of the keys that were given, else of `own_key`, if any. The newest key, which seals, is the first.

    Raises NotConfigured for invalid keys, if the database has no key of its own.
    """
    named = environ.get(CURSOR_KEYS_VARIABLE, "")
    keys = options.cursor_keys or [key.strip() for key in named.split(",") if key.strip()]
    seal = CursorSeal(keys or ([own_key()] if own_key else []))
    if own_key is None:
        seal.check_cipher()
    return seal
