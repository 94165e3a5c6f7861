"""What the tests of `make quick` do without: an engine, and any other machine.

A folder takes the guard by importing `no_engine` into its `conftest.py`. A test fails there when its process starts an
engine, connects to an address that is not this machine's, or asks for the address of a name. Code that swallows the
error fails the test all the same. Processes that a test starts find no engine.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from singletable_local import ENGINE_VARIABLE
from singletable_local.binary import ENGINE_NAME

NOWHERE = "/nowhere/no engine in tests of make quick"
_SUPERVISOR = "singletable_local.supervisor"


class Refused(Exception):
    """Raised where a guarded test reaches for an engine or another machine."""


class Guard:
    """Hears what this process is about to do, and refuses it while a guarded test runs."""

    def __init__(self) -> None:
        self.refused: list[str] | None = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self.refused is None or event not in _REASONS:
            return
        reason = _REASONS[event](args)
        if reason:
            self.refused.append(reason)
            raise Refused(reason)


def _of_command(args: tuple[Any, ...]) -> str:
    executable, command = args[0], args[1]
    words = command if isinstance(command, Sequence) and not isinstance(command, (str, bytes)) else [command]
    said = [os.fsdecode(word) for word in [executable or "", *words] if isinstance(word, (str, bytes, os.PathLike))]
    starts = any(Path(word).name == ENGINE_NAME for word in said[:2]) or any(_SUPERVISOR in word for word in said)
    return "it starts an engine" if starts else ""


def _of_address(args: tuple[Any, ...]) -> str:
    address = args[-1]
    if not isinstance(address, tuple) or _is_here(str(address[0])):
        return ""
    return f"it connects to {address[0]}"


def _of_name(args: tuple[Any, ...]) -> str:
    host = args[0].decode() if isinstance(args[0], bytes) else args[0]
    return "" if host is None or _is_here(host) else f"it asks for the address of {host}"


def _is_here(host: str) -> bool:
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_REASONS: dict[str, Callable[[tuple[Any, ...]], str]] = {
    "subprocess.Popen": _of_command,
    "os.posix_spawn": _of_command,
    "socket.connect": _of_address,
    "socket.sendto": _of_address,
    "socket.getaddrinfo": _of_name,
    "socket.gethostbyname": _of_name,
}
_guard = Guard()


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that starts an engine or reaches another machine."""
    monkeypatch.setenv(ENGINE_VARIABLE, NOWHERE)
    refused: list[str] = []
    _guard.refused = refused
    try:
        yield
    finally:
        _guard.refused = None
    if refused:
        pytest.fail(f"{'; '.join(refused)}: such a test belongs in tests/engine, not in a folder of make quick")
