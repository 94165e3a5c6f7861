"""What the tests of `make quick` do without: an engine, and any other machine.

A folder takes the guard by importing `no_engine` into its `conftest.py`. A test fails there when its process starts an
engine, connects to an address that is not this machine's, or asks for the address of a name. Code that swallows the
error fails the test all the same. Processes that a test starts find no engine.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from singletable_local import ENGINE_VARIABLE
from singletable_local.binary import ENGINE_NAME

NOWHERE = "/nowhere/no engine in tests of make quick"
_SUPERVISOR = "singletable_local.supervisor"


class Refused(Exception):
    """Raised where a guarded test reaches for an engine or another machine."""


def _reason_of_popen(_: object, args: Any, bufsize: int = -1, executable: Any = None, **__: Any) -> str:
    return _reason_of_command(executable, args)


def _reason_of_command(executable: Any, command: Any, *_: object, **__: object) -> str:
    words = command if isinstance(command, Sequence) and not isinstance(command, (str, bytes)) else [command]
    texts = [os.fsdecode(word) for word in [executable or "", *words] if isinstance(word, (str, bytes, os.PathLike))]
    starts = any(Path(word).name == ENGINE_NAME for word in texts[:2]) or any(_SUPERVISOR in word for word in texts)
    return "it starts an engine" if starts else ""


def _reason_of_address(*args: Any) -> str:
    address = args[-1]
    if not isinstance(address, tuple) or _is_here(str(address[0])):
        return ""
    return f"it connects to {address[0]}"


def _reason_of_name(host: str | bytes | None, *_: object, **__: object) -> str:
    name = host.decode() if isinstance(host, bytes) else host
    return "" if name is None or _is_here(name) else f"it asks for the address of {name}"


def _is_here(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Stands before the calls that reach for an engine or another machine, and refuses them while a guarded test runs.

    No hook of audits: a process never loses that, and every import, `id` and look at a frame of any test calls it.
    """

    def __init__(self) -> None:
        self.refused: list[str] = []
        self._guarded = [(owner, name, self._before(getattr(owner, name), reason)) for owner, name, reason in _REASONS]

    @contextmanager
    def standing(self) -> Iterator[list[str]]:
        """What is refused meanwhile."""
        self.refused = []
        with pytest.MonkeyPatch.context() as patch:
            for owner, name, function in self._guarded:
                patch.setattr(owner, name, function)
            yield self.refused

    def _before(self, function: Callable[..., Any], reason_of: Callable[..., str]) -> Callable[..., Any]:
        @wraps(function)
        def guarded(*args: Any, **named: Any) -> Any:
            if reason := reason_of(*args, **named):
                self.refused.append(reason)
                raise Refused(reason)
            return function(*args, **named)

        return guarded


_REASONS: tuple[tuple[Any, str, Callable[..., str]], ...] = (
    (subprocess.Popen, "__init__", _reason_of_popen),
    (os, "posix_spawn", _reason_of_command),
    (socket.socket, "connect", _reason_of_address),
    (socket.socket, "connect_ex", _reason_of_address),
    (socket.socket, "sendto", _reason_of_address),
    (socket, "getaddrinfo", _reason_of_name),
    (socket, "gethostbyname", _reason_of_name),
)
_guard = Guard()


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that starts an engine or reaches another machine."""
    monkeypatch.setenv(ENGINE_VARIABLE, NOWHERE)
    with _guard.standing() as refused:
        yield
    if refused:
        pytest.fail(f"{'; '.join(refused)}: such a test belongs in tests/engine, not in a folder of make quick")
