"""Every request that any test sends is held to the services' published record.

The root `conftest.py` takes the guard by importing `valid_requests`: a test fails that sends what the service would
refuse as malformed. A test that wants to see such a refusal says so with `@pytest.mark.malformed`. The requests of
processes that a test starts are not seen.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from singletable.wire.delivery import Delivery
from tests.conformance.expression_text import BARE
from tests.conformance.requests import breaches, form_of

MARK = "malformed"


class Recorder:
    """The requests of new forms since the last look."""

    def __init__(self) -> None:
        self._forms: set[int] = set()
        self._new: list[tuple[str, str, bytes]] = []

    def take(self, prefix: str, operation: str, body: bytes) -> None:
        form = hash((prefix, operation, form_of(msgspec.json.decode(body))))
        if form not in self._forms:
            self._forms.add(form)
            self._new.append((prefix, operation, body))

    def forget(self) -> None:
        self._new.clear()

    def breaches(self) -> list[str]:
        """What is wrong with the new requests. A wrong form stays new: it is wrong in the next test too."""
        found: list[str] = []
        for prefix, operation, body in self._new:
            if wrong := breaches(prefix, operation, body):
                found += wrong
                self._forms.discard(hash((prefix, operation, form_of(msgspec.json.decode(body)))))
        self._new.clear()
        return found


RECORDER = Recorder()
_deliver = Delivery.deliver


async def _deliver_and_record(self: Delivery, exchange: Any, request: Any, *more: Any) -> Any:
    RECORDER.take(self._service.target_prefix, request.operation, request.body)
    return await _deliver(self, exchange, request, *more)


@pytest.fixture(autouse=True)
def valid_requests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test whose requests the services' models or documented limits don't allow."""
    if request.path.is_relative_to(request.config.rootpath / "tests" / "unit"):
        yield  # the bodies there are nobody's requests
        return
    monkeypatch.setattr(Delivery, "deliver", _deliver_and_record)
    yield
    if request.node.get_closest_marker(MARK):
        RECORDER.forget()
    elif found := [breach for breach in RECORDER.breaches() if not (_is_raw(request) and breach.endswith(BARE))]:
        pytest.fail("; ".join(found))


def _is_raw(request: pytest.FixtureRequest) -> bool:
    """Whether a test is of plain items: the texts of their conditions are the caller's."""
    return request.path.parent.name == "raw" or "raw.md" in request.node.name
