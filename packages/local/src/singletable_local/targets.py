"""The target of `connect` for "local", "local:<file>" and the `unix://` address of an engine: the library's way in."""

from __future__ import annotations

import os
import secrets
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from singletable.errors import InvalidRequest, NotConfigured
from singletable.flow import Traits
from singletable.target import Options, Target, seal_of
from singletable.wire import RetryPolicy, beside, credentials_from, elapsed, endpoint_at, endpoint_for
from singletable_local import binary
from singletable_local.binary import find_emulator, no_file
from singletable_local.data_copy import copy_data as copy_data
from singletable_local.data_wipe import wipe_deleted
from singletable_local.engine import Engine
from singletable_local.held_copies import HeldCopy
from singletable_local.stream_upkeep import maintain_streams
from singletable_local.unix_endpoint import UnixEndpoint

_CALLER_OF_CONNECT = 6
"""Whose line a warning names: `_check_alone` is called by `embedded`, that by `_find`, `find_target`, `connect`."""
_SHARED_FILE = 'Name a file, which they share: connect("local:data/app.db").'
_SHARED_ADDRESS = (
    "Let one of them start it, and give the others the address that its repr(db) shows, "
    'which they share: connect("http://127.0.0.1:<port>").'
)
_TRAITS = Traits(
    scan_page_limit=1000,  # a larger page, or one without a limit, blocks every other request
    segments_shift=True,
    scans_by_key=True,
    counts_parts=True,
    encryption_keys=False,
    index_lag_seconds=0.0,
)
"""The differences of the engine from Amazon DynamoDB."""
_PYTHON_TRAITS = Traits(
    creates_tables=True,
    scan_page_limit=1000,  # as above
    segments_shift=True,
    encryption_keys=False,
    index_lag_seconds=0.0,
    units_differ="the engine in Python counts half a unit for a read, and too few for a transaction",
)
"""The differences of the engine in Python."""


def embedded(target: str, options: Options, environ: Mapping[str, str]) -> Target:
    """An engine that this process starts, or shares by its file."""
    name = target.partition(":")[2]
    if target != "local" and not name:
        raise InvalidRequest("local: without a file", hint='Use "local" for memory, or "local:data/app.db".')
    path = Path(name) if name else None
    if path is not None and (not path.name or path.is_dir()):
        raise InvalidRequest(f"{target} names a directory, not a file", hint='Use "local:data/app.db".')
    emulator = find_emulator(environ)
    if path is None:
        _check_alone(environ, _SHARED_FILE if emulator is None else _SHARED_ADDRESS)
    if emulator is not None:
        if path is not None:
            raise no_file(target)
        return _in_python(emulator, options, environ)
    engine = Engine.start(path, environ=environ)
    data = engine.data
    endpoint = endpoint_at(engine, environ=environ, region=options.region)
    credentials = options.credentials or credentials_from({}, local=True)

    def maintain(now: float) -> None:
        maintain_streams(data, now, elapsed())

    traits = replace(
        _TRAITS,
        creates_tables=True,
        maintain_streams=maintain,
        wipe_deleted=partial(wipe_deleted, data),
        copy_data=partial(copy_data, data),
        held_copy=HeldCopy(data),
        data_file=str(data.resolve()),
    )
    seal = seal_of(options, environ, partial(_own_key, path))
    return Target(endpoint, credentials, traits, seal, beside(endpoint), engine, options.retry or RetryPolicy())


def _in_python(emulator: Path, options: Options, environ: Mapping[str, str]) -> Target:
    """The engine in Python, in a process that this one starts."""
    from singletable_local.python_engine import PythonEngine  # noqa: PLC0415 for machines without the binary

    engine = PythonEngine.start(emulator, environ)
    region = options.region or environ.get("AWS_DEFAULT_REGION") or environ.get("AWS_REGION")
    endpoint = endpoint_for(engine.url, environ={}, region=region)
    credentials = options.credentials or credentials_from({}, local=True)
    seal = seal_of(options, environ, partial(_own_key, None))
    retry = options.retry or RetryPolicy()
    return Target(endpoint, credentials, _PYTHON_TRAITS, seal, beside(endpoint), engine, retry)


def unix_endpoint(target: str, options: Options, environ: Mapping[str, str]) -> Target:
    """An embedded engine that another database of this user runs; it ends with that one."""
    if not binary.IS_POSIX:
        raise NotConfigured(
            "a unix:// address is that of the engine's binary, which runs on Linux and macOS only",
            hint='Use connect("local").',
        )
    engine = UnixEndpoint.at(target)
    data = engine.data_file()
    endpoint = endpoint_at(engine, environ=environ, region=options.region)
    credentials = options.credentials or credentials_from({}, local=True)
    traits = replace(options.traits or _TRAITS, held_copy=None if data is None else HeldCopy(data))
    seal = seal_of(options, environ)
    return Target(endpoint, credentials, traits, seal, beside(endpoint), retry=options.retry or RetryPolicy())


def _check_alone(environ: Mapping[str, str], shared: str) -> None:
    """Warn if this process is one of several, as a server's workers are: each would have a memory of its own."""
    processes = sys.modules.get("multiprocessing.process")
    workers = environ.get("WEB_CONCURRENCY", "1")
    if (processes is not None and processes.parent_process() is not None) or (workers.isdigit() and int(workers) > 1):
        warnings.warn(
            'connect("local") in one of several processes: each has an engine of its own in memory, and does not see '
            f"what the others write. {shared}",
            RuntimeWarning,
            stacklevel=_CALLER_OF_CONNECT,
        )


def _own_key(path: Path | None) -> str:
    """A local database's own key for cursors: next to its file, readable by its owner; in memory, a passing one."""
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
