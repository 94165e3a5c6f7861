"""What the package offers, and what importing it must not cost."""

from __future__ import annotations

import subprocess
import sys

from singletable.flow import Port, Traits
from singletable.wire import BlockingPort, PortOptions, StaticCredentials, endpoint_for
from singletable.wire.asyncio_port import AwaitingPort
from tests.unit.wire.conftest import SOME_CREDENTIALS


def test_neither_asyncio_nor_botocore_is_imported_before_it_is_needed() -> None:
    script = "import sys, singletable.wire; print(sorted({'asyncio', 'botocore', 'boto3'} & sys.modules.keys()))"
    environ = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    run = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, timeout=60)
    assert run.stdout == "[]\n", run.stderr


def test_both_ports_have_the_verbs_of_a_flow() -> None:
    endpoint = endpoint_for("http://127.0.0.1:1", environ={})
    source, traits = StaticCredentials(SOME_CREDENTIALS), Traits(creates_tables=True)
    options = PortOptions(now=lambda: 1.0, random=lambda: 0.5, traits=traits)
    blocking: Port = BlockingPort(endpoint, source, options)
    awaiting: Port = AwaitingPort(endpoint, source, options)
    for port in (blocking, awaiting):
        assert (port.traits, port.ready) == (traits, set())
        assert (port.now(), port.random(), len(port.token())) == (1.0, 0.5, 22)
