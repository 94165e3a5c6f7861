"""Where an engine listens."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from singletable_local.isolation import Exposed, Filter


def test_an_exposed_engine_has_its_address_again_when_it_is_started_again() -> None:
    """Its users have been told that address."""
    isolation = Exposed(0)
    host, port = next(isolation.addresses())
    assert isolation.isolate(1, host, port)
    assert next(isolation.addresses()) == (host, port)
    assert isolation.url == f"http://{host}:{port}"


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such filter elsewhere")
def test_an_engine_that_ends_at_its_start_costs_nobody_a_descriptor() -> None:
    """Its descriptors have been closed already, and their numbers belong to others: to a holder of the engine."""
    isolation, nobody = Filter(), 1 << 22  # above the largest process id
    with socket.create_server(("127.0.0.1", 0)) as listener:
        try:
            isolation.isolate(os.getpid(), *listener.getsockname())
        except OSError as error:
            pytest.skip(f"not on this system: {error}")
        with pytest.raises(OSError, match=r"No such process|Invalid argument"):
            isolation.isolate(nobody, "127.0.0.1", 1)
        others = [os.dup(0) for _ in range(4)]
        with pytest.raises(OSError, match=r"No such process|Invalid argument"):
            isolation.isolate(nobody, "127.0.0.1", 1)
        for other in others:
            os.fstat(other)
            os.close(other)
        with pytest.raises(ConnectionRefusedError, match="not isolated"):
            isolation.connect()
