"""TLS: an authority that we trust, and one that we don't."""

from __future__ import annotations

import socket
import ssl
import threading  # noqa: TID251
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from singletable import errors
from singletable.wire import RetryPolicy
from tests.fakes.scripted_server import ScriptedServer, answers, answers_then_closes, cut, half_closes
from tests.unit.wire.conftest import Ask, Client


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def server_context(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[ScriptedServer]:
    with ScriptedServer(server_context(authority, "127.0.0.1")) as running:
        yield running


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


async def test_a_trusted_certificate(client: Client, secure: ScriptedServer, ca_file: str) -> None:
    large = b'{"a":"' + b"x" * 500_000 + b'"}'
    secure.plan(answers(), answers(large), cut)
    port = client.port(secure.url, ca_file=ca_file)
    assert (await client.run(port.send(Ask()))).status == 200
    assert (await client.run(port.send(Ask()))).body == large
    assert (await client.run(port.send(Ask()))).unsettled
    assert [request.connection for request in secure.received] == [1, 1, 1, 2]


async def test_an_idle_connection_that_was_closed_is_found_out(
    client: Client, secure: ScriptedServer, ca_file: str
) -> None:
    secure.plan(answers_then_closes)
    port = client.port(secure.url, ca_file=ca_file)
    await client.run(port.send(Ask(repeatable=False)))
    secure.wait_for_close()
    assert (await client.run(port.send(Ask(repeatable=False)))).status == 200


async def test_an_idle_connection_that_was_half_closed_is_found_out(
    client: Client, secure: ScriptedServer, ca_file: str
) -> None:
    half_closed = threading.Event()
    secure.plan(half_closes(half_closed))
    port = client.port(secure.url, ca_file=ca_file)
    await client.run(port.send(Ask()))
    assert half_closed.wait(10)
    assert not (await client.run(port.send(Ask(repeatable=False)))).unsettled
    assert [request.connection for request in secure.received] == [1, 2]


async def test_an_untrusted_certificate_is_refused_at_once(client: Client, secure: ScriptedServer) -> None:
    with pytest.raises(errors.Unavailable, match=r"(?i)certificate.*ca_file"):
        await client.run(client.port(secure.url).send(Ask()))
    assert client.clock.slept == []
    assert secure.received == []


async def test_a_certificate_of_another_name_is_refused(client: Client, authority: trustme.CA, ca_file: str) -> None:
    with (
        ScriptedServer(server_context(authority, "elsewhere.example")) as impostor,
        pytest.raises(errors.Unavailable, match=r"(?i)certificate"),
    ):
        await client.run(client.port(impostor.url, ca_file=ca_file).send(Ask()))
    assert impostor.received == []


async def test_a_connection_that_fails_in_the_handshake(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as refusing:
        url = f"https://127.0.0.1:{refusing.getsockname()[1]}"
        thread = threading.Thread(target=lambda: refusing.accept()[0].close())
        thread.start()
        with pytest.raises(errors.Unavailable, match="Could not connect"):
            await client.run(client.port(url, policy=RetryPolicy(attempts=1)).send(Ask(repeatable=False)))
        thread.join()


async def test_a_file_without_certificates(client: Client, secure: ScriptedServer, tmp_path: Path) -> None:
    for path in (tmp_path / "missing.pem", tmp_path / "empty.pem"):
        if path.name == "empty.pem":
            path.write_text("not a certificate")
        with pytest.raises(errors.NotConfigured, match="ca_file"):
            client.port(secure.url, ca_file=str(path))
