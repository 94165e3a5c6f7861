"""What a database is reached by: the embedded engine, an address, or AWS. Shared by the two shells."""

from __future__ import annotations

import errno
import os
import secrets
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest, NotConfigured, SingletableError, Unavailable
from singletable.flow import CAPABILITIES, Traits
from singletable.records.cursors import CursorSeal
from singletable.wire import (
    CredentialSource,
    Endpoint,
    Locate,
    PortOptions,
    RetryPolicy,
    Timeouts,
    beside,
    credentials_from,
    endpoint_at,
    endpoint_for,
    is_aws_host,
    locator,
    retry_policy_for,
)
from singletable.wire.monotonic import elapsed

if TYPE_CHECKING:
    from pathlib import Path

CURSOR_KEYS_VARIABLE = "SINGLETABLE_CURSOR_KEYS"
_LOCAL = "local"
_CALLER_OF_CONNECT = 6
"""Whose line a warning names: `_check_alone` is called by `_embedded`, that by `_find`, `find_target`, `connect`."""
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
_UNKNOWN_ENGINE = Traits(segments_shift=True, unknown=frozenset(CAPABILITIES) - {"whole indexes"})
"""Of an endpoint that is not Amazon's: nothing is taken for granted of which an error would go unnoticed."""


class Running(Protocol):
    """An embedded engine, which ends with its last user."""

    @property
    def data(self) -> Path: ...

    def stop(self) -> None: ...


class Options(Struct, frozen=True):
    """How a database is talked to; each has a default. Its repr shows no cursor key."""

    region: str | None = None
    credentials: CredentialSource | None = None
    cursor_keys: Sequence[str | bytes] = ()
    retry: RetryPolicy | None = None
    """None: the library's own, with as many attempts as AWS_MAX_ATTEMPTS says."""
    timeouts: Timeouts = Timeouts()
    ca_file: str | None = None
    checksum: bool = True
    traits: Traits | None = None
    """What differs at an address, where that is known. None: on AWS nothing; elsewhere nothing is taken for granted,
    and `db.require` finds out what the engine can."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970. It decides expiry, the life of cursors, and the time of signatures."""

    def __repr__(self) -> str:
        return f"Options(region={self.region!r}, cursor_keys={len(self.cursor_keys)}, retry={self.retry!r})"


class Target(Struct, frozen=True):
    """A way to the service, found and ready."""

    endpoint: Endpoint
    credentials: CredentialSource
    traits: Traits
    seal: CursorSeal
    locate: Locate
    """Where the account's other services are: streams, queues."""
    engine: Running | None = None
    retry: RetryPolicy = RetryPolicy()

    @property
    def place(self) -> str:
        """What stays the same while the data does: the data file of an embedded engine, or the address."""
        return self.endpoint.url if self.engine is None else str(self.engine.data)


def port_options(target: Target, options: Options) -> PortOptions:
    """The options of a port to the target, for either shell."""
    return PortOptions(
        policy=target.retry,
        timeouts=options.timeouts,
        traits=target.traits,
        checksum=options.checksum,
        ca_file=options.ca_file,
        locate=target.locate,
        now=options.clock,
    )


def find_target(target: str, options: Options, environ: Mapping[str, str]) -> Target:
    """`local`, `local:<file>`, `aws`, or an address: `http://127.0.0.1:8000`, the `unix://` of an embedded engine.

    Unavailable where this process has no file descriptor left: even an import needs one.
    """
    _check_text(target)
    try:
        return _find(target, options, environ)
    except OSError as error:
        if error.errno not in _NO_DESCRIPTOR:
            raise
        raise Unavailable(
            f"no connection could be prepared: {error.strerror}",
            operation="connect",
            hint="Close files or sockets, or allow this process more of them: `ulimit -n`.",
        ) from error


def _check_text(target: object) -> None:
    if not isinstance(target, str):
        kind = "None" if target is None else f"a {type(target).__name__}"
        raise InvalidRequest(f"a target is a text, not {kind}", operation="connect", hint='As in connect("local").')


def _find(target: str, options: Options, environ: Mapping[str, str]) -> Target:
    if options.traits is not None and "://" not in target:
        raise InvalidRequest(f"traits= with the target {target!r}, whose traits are known", hint="Leave it out.")
    if target == _LOCAL or target.startswith(f"{_LOCAL}:"):
        return _embedded(target, options, environ)
    if target != "aws" and "://" not in target:
        raise InvalidRequest(
            "the target is none that is known", hint='Use "local", "local:<file>", "aws" or "http://<host>:<port>".'
        )
    if target.startswith("unix://"):
        return _unix_endpoint(target, options, environ)
    account = environ.get("AWS_ACCOUNT_ID") if options.credentials is None and "AWS_ACCESS_KEY_ID" in environ else None
    try:
        endpoint = endpoint_for(target, environ=environ, region=options.region, account=account)
    except ValueError as error:
        if isinstance(error, SingletableError):
            raise
        raise InvalidRequest("the target is not an address", hint='As in "http://127.0.0.1:8000".') from error
    credentials = options.credentials or credentials_from(environ, local=endpoint.is_local)
    locate = locator(target, environ=environ, region=options.region)
    seal = _seal(options, environ)
    retry = options.retry or (RetryPolicy() if endpoint.is_local else retry_policy_for(environ))
    traits = options.traits or (Traits() if is_aws_host(endpoint.host) else _UNKNOWN_ENGINE)
    return Target(endpoint, credentials, traits, seal, locate, retry=retry)


def _unix_endpoint(target: str, options: Options, environ: Mapping[str, str]) -> Target:
    """An embedded engine that another database of this user runs; it ends with that one."""
    from singletable.local import UnixEndpoint  # noqa: PLC0415 for few programs

    endpoint = endpoint_at(UnixEndpoint.at(target), environ=environ, region=options.region)
    credentials = options.credentials or credentials_from({}, local=True)
    seal = _seal(options, environ)
    traits = options.traits or _embedded_traits()
    return Target(endpoint, credentials, traits, seal, beside(endpoint), retry=options.retry or RetryPolicy())


def _embedded(target: str, options: Options, environ: Mapping[str, str]) -> Target:
    if os.name != "posix":  # before the import, which needs what only POSIX has
        raise NotConfigured(
            "the embedded engine runs on Linux and macOS only",
            hint='Run your program in WSL, or connect to an endpoint: connect("http://127.0.0.1:8000").',
        )
    from pathlib import Path  # noqa: PLC0415 it brings urllib, 4 ms; a program on AWS never needs it

    from singletable.local import Engine, maintain_streams, wipe_deleted  # noqa: PLC0415 nor this

    name = target.partition(":")[2]
    if target != _LOCAL and not name:
        raise InvalidRequest("local: without a file", hint='Use "local" for memory, or "local:data/app.db".')
    path = Path(name) if name else None
    if path is None:
        _check_alone(environ)
    if path is not None and (not path.name or path.is_dir()):
        raise InvalidRequest(f"{target} names a directory, not a file", hint='Use "local:data/app.db".')
    engine = Engine.start(path, environ=environ)
    data = engine.data
    endpoint = endpoint_at(engine, environ=environ, region=options.region)
    credentials = options.credentials or credentials_from({}, local=True)

    def maintain(now: float) -> None:
        maintain_streams(data, now, elapsed())

    traits = replace(
        _embedded_traits(), creates_tables=True, maintain_streams=maintain, wipe_deleted=lambda: wipe_deleted(data)
    )
    keys = _cursor_keys(options, environ) or [_own_key(path)]
    return Target(
        endpoint, credentials, traits, CursorSeal(keys), beside(endpoint), engine, options.retry or RetryPolicy()
    )


def _embedded_traits() -> Traits:
    """Of the embedded engine, in this process or another's."""
    from singletable.local import EMBEDDED  # noqa: PLC0415 a program on AWS never needs it

    return Traits(
        scan_page_limit=EMBEDDED.scan_page_limit,
        segments_shift=EMBEDDED.segments_shift,
        scans_by_key=EMBEDDED.scans_by_key,
        counts_parts=EMBEDDED.counts_parts,
        encryption_keys=EMBEDDED.encryption_keys,
        index_lag_seconds=0.0 if EMBEDDED.synchronous_indexes else Traits().index_lag_seconds,
    )


def _check_alone(environ: Mapping[str, str]) -> None:
    """Warns where this process is one of several, as a server's workers are: each would have a memory of its own."""
    processes = sys.modules.get("multiprocessing.process")
    workers = environ.get("WEB_CONCURRENCY", "1")
    if (processes is not None and processes.parent_process() is not None) or (workers.isdigit() and int(workers) > 1):
        warnings.warn(
            'connect("local") in one of several processes: each has an engine of its own in memory, and does not see '
            'what the others write. Name a file, which they share: connect("local:data/app.db").',
            RuntimeWarning,
            stacklevel=_CALLER_OF_CONNECT,
        )


def _cursor_keys(options: Options, environ: Mapping[str, str]) -> Sequence[str | bytes]:
    named = environ.get(CURSOR_KEYS_VARIABLE, "")
    return options.cursor_keys or [key.strip() for key in named.split(",") if key.strip()]


def _seal(options: Options, environ: Mapping[str, str]) -> CursorSeal:
    """The seal of the keys that were given, if any. NotConfigured where they could not be used."""
    seal = CursorSeal(_cursor_keys(options, environ))
    seal.check_cipher()
    return seal


def _own_key(path: Path | None) -> str:
    """A local database's own key for cursors: beside its file, for its owner's eyes; in memory, a passing one."""
    if path is None:
        return secrets.token_urlsafe(32)
    kept = path.with_name(f"{path.name}.cursor-key")
    if not kept.exists():
        # Made whole under another name, then linked: of several processes the first one's key stands for all.
        draft = path.with_name(f"{path.name}.cursor-key.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32))
        with suppress(FileExistsError):
            os.link(draft, kept)
        draft.unlink()
    return kept.read_text()
