"""Where an engine listens."""

from __future__ import annotations

from singletable.local.isolation import Exposed


def test_an_exposed_engine_has_its_address_again_when_it_is_started_again() -> None:
    """Its users have been told that address."""
    isolation = Exposed(0)
    host, port = next(isolation.addresses())
    assert isolation.isolate(1, host, port)
    assert next(isolation.addresses()) == (host, port)
    assert isolation.url == f"http://{host}:{port}"
