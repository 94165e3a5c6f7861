"""A pytest plugin, for tests that talk to a gateway or to cassettes: -p tools.aws.plugin

It tells the address which test runs, and makes a test's requests the same in each run: what it draws by `secrets`,
and a port's tokens, come from a generator that begins with the run's seed and the test's id.
A test fails that asks a cassette for what it does not hold; the run ends when the gateway is stopped or gone.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from singletable.wire import delivery
from tests.support.emulators import GATEWAY_VARIABLE
from tools.aws.gateway import CONTROL

_SECONDS = 300.0
"""The address may delete some hundred tables before it answers."""
_FAILED = pytest.StashKey[bool]()


class Steady:
    """`secrets` and a port's tokens, the same for the same test."""

    def __init__(self) -> None:
        self._random = Random()
        self._kept: dict[str, Any] = {}

    def begin(self, seed: str, test: str) -> None:
        self._random.seed(f"{seed} {test}")

    def token_bytes(self, nbytes: int | None = None) -> bytes:
        return self._random.randbytes(32 if nbytes is None else nbytes)

    def token_hex(self, nbytes: int | None = None) -> str:
        return self.token_bytes(nbytes).hex()

    def token_urlsafe(self, nbytes: int | None = None) -> str:
        return base64.urlsafe_b64encode(self.token_bytes(nbytes)).rstrip(b"=").decode()

    @contextmanager
    def instead(self) -> Generator[None]:
        """In the place of the module's functions inside the block."""
        with pytest.MonkeyPatch.context() as patch:
            for name in ("token_bytes", "token_hex", "token_urlsafe"):
                patch.setattr(secrets, name, getattr(self, name))
            patch.setattr(delivery, "urandom", self.token_bytes)
            yield


STEADY = Steady()


def address() -> str:
    return os.environ[GATEWAY_VARIABLE]


def tell(said: dict[str, Any]) -> dict[str, str]:
    """Tell the address. It says `why` something is wrong, if it is, and the `seed`. Ends the run where it is gone."""
    request = Request(f"{address()}{CONTROL}", json.dumps(said).encode(), method="POST")
    try:
        with urlopen(request, timeout=_SECONDS) as answer:
            return dict(json.loads(answer.read()))
    except (URLError, OSError):
        pytest.exit("the gateway is gone", returncode=3)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    told = tell({"begin": item.nodeid})
    if told["why"]:
        item.session.shouldstop = told["why"]
    STEADY.begin(told["seed"], item.nodeid)
    with STEADY.instead():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or not report.passed
    if report.when == "teardown":
        told = tell({"end": item.nodeid, "passed": not item.stash[_FAILED]})
        if told["why"]:
            report.outcome, report.longrepr = "failed", told["why"]
    return report
