"""The connections of an event loop receive into one buffer: none has another's bytes in its answer."""

from __future__ import annotations

from singletable.wire import StaticCredentials, endpoint_for
from singletable.wire.asyncio_port import AwaitingPort
from tests.fakes.scripted_server import ScriptedServer, echoes
from tests.unit.wire.conftest import SOME_CREDENTIALS, Ask


async def test_answers_that_come_in_pieces_at_once_stay_apart(server: ScriptedServer) -> None:
    bodies = [b'{"a":"%s"}' % (bytes([97 + number]) * 300_000) for number in range(16)]
    server.plan(*[echoes] * len(bodies))
    endpoint, credentials = endpoint_for(server.url, environ={}), StaticCredentials(SOME_CREDENTIALS)
    async with AwaitingPort(endpoint, credentials) as port:
        responses = await port.send_all([Ask("Echo", body) for body in bodies])
        assert (await port.send(Ask())).body == b"{}"
    assert [response.body for response in responses] == bodies
    assert server.connections > 1
