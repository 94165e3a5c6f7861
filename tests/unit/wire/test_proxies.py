"""Proxies: which one the environment names, and requests through a real one on loopback."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.utils
import pytest
import trustme

from singletable import connect, connect_async, errors
from singletable.wire import RetryPolicy, StaticCredentials, Timeouts, endpoint_for
from singletable.wire.proxies import Proxy, proxy_for
from tests.fakes.connect_proxy import ConnectProxy
from tests.fakes.scripted_server import ScriptedServer, answers
from tests.unit.wire.conftest import SOME_CREDENTIALS, Ask, Client
from tests.unit.wire.test_tls import server_context

HOST = "dynamodb.eu-central-1.amazonaws.com"
REGION = {"AWS_REGION": "eu-central-1"}
ONCE = RetryPolicy(attempts=1)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[ScriptedServer]:
    with ScriptedServer(server_context(authority, HOST)) as running:
        yield running


@pytest.fixture
def proxy(secure: ScriptedServer) -> Iterator[ConnectProxy]:
    with ConnectProxy(secure.port) as running:
        yield running


def through(proxy: ConnectProxy, ca_file: str, user: str = "", **more: str) -> dict[str, str]:
    return {"HTTPS_PROXY": f"http://{user}127.0.0.1:{proxy.port}", "AWS_CA_BUNDLE": ca_file, **REGION, **more}


def port_to(client: Client, environ: dict[str, str], target: str = "aws", **options: Any) -> Any:
    return client.port(endpoint=endpoint_for(target, environ=environ), policy=ONCE, **options)


async def test_a_request_goes_through_a_tunnel(
    client: Client, secure: ScriptedServer, proxy: ConnectProxy, ca_file: str
) -> None:
    large = b'{"a":"' + b"x" * 500_000 + b'"}'
    secure.plan(answers(), answers(large))
    port = port_to(client, through(proxy, ca_file))
    assert (await client.run(port.send(Ask()))).status == 200
    assert (await client.run(port.send(Ask()))).body == large
    assert proxy.asked == [{"": f"CONNECT {HOST}:443 HTTP/1.1", "host": f"{HOST}:443"}]
    assert [request.line for request in secure.received] == ["POST / HTTP/1.1"] * 2
    assert "proxy-authorization" not in secure.received[0].headers
    assert secure.received[0].headers["host"] == HOST


async def test_many_at_once(client: Client, secure: ScriptedServer, proxy: ConnectProxy, ca_file: str) -> None:
    port = port_to(client, through(proxy, ca_file))
    responses = await client.run(port.send_all([Ask()] * 40))
    assert [response.status for response in responses] == [200] * 40
    assert 1 <= len(proxy.asked) <= 16


@pytest.mark.parametrize("size", [1, 7])
async def test_an_answer_that_comes_in_pieces(client: Client, proxy: ConnectProxy, ca_file: str, size: int) -> None:
    proxy.piece = size
    assert (await client.run(port_to(client, through(proxy, ca_file)).send(Ask()))).status == 200


async def test_the_proxy_is_shown_its_user(client: Client, secure: ScriptedServer, ca_file: str) -> None:
    shown = "Basic " + base64.b64encode("ü ser:p@ss:w%rd".encode()).decode()
    user = "%C3%BC%20ser:p%40ss%3Aw%25rd@"
    with ConnectProxy(secure.port, authorization=shown) as proxy:
        assert shown not in repr(endpoint_for("aws", environ=through(proxy, ca_file, user)))
        assert (await client.run(port_to(client, through(proxy, ca_file, user)).send(Ask()))).status == 200
        with pytest.raises(errors.Denied, match=r"answered 407.*HTTPS_PROXY") as raised:
            await client.run(port_to(client, through(proxy, ca_file, "someone:canary@")).send(Ask(repeatable=False)))
    assert "canary" not in str(raised.value)
    assert len(secure.received) == 1


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", errors.Denied),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", errors.Unavailable),
        (b"HTTP/1.1 200 OK\r\n\r\nmore than was asked for", errors.Unavailable),
        (b"SSH-2.0-OpenSSH\r\n\r\n", errors.Unavailable),
        (b"HTTP/1.1 500 Oth", errors.Unavailable),
        (b"", errors.Unavailable),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, errors.Unavailable),
    ],
    ids=["403", "502", "too-much", "not-http", "half", "nothing", "endless"],
)
async def test_a_proxy_that_opens_no_tunnel(
    client: Client,
    secure: ScriptedServer,
    proxy: ConnectProxy,
    ca_file: str,
    answer: bytes,
    error: type[errors.SingletableError],
) -> None:
    """Nothing was sent, so not even a write that is sent once is of unknown outcome."""
    proxy.answer = answer
    with pytest.raises(error, match=r"proxy at 127\.0\.0\.1"):
        await client.run(port_to(client, through(proxy, ca_file)).send(Ask(repeatable=False)))
    assert secure.received == []


async def test_a_proxy_that_never_answers(client: Client, proxy: ConnectProxy, ca_file: str) -> None:
    proxy.silent = True
    port = port_to(client, through(proxy, ca_file), timeouts=Timeouts(connect=0.05, read=5.0))
    with pytest.raises(errors.Unavailable, match="Could not connect"):
        await client.run(port.send(Ask(repeatable=False)))


async def test_no_proxy_listens(client: Client, proxy: ConnectProxy, ca_file: str) -> None:
    environ = through(proxy, ca_file) | {"HTTPS_PROXY": "http://127.0.0.1:1"}
    with pytest.raises(errors.Unavailable, match="Could not connect"):
        await client.run(port_to(client, environ).send(Ask(repeatable=False)))


async def test_the_certificate_is_the_endpoint_s_not_the_proxy_s(
    client: Client, authority: trustme.CA, proxy: ConnectProxy, ca_file: str, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    with pytest.raises(errors.Unavailable, match=r"(?i)certificate"):
        await client.run(port_to(client, through(proxy, str(other))).send(Ask()))
    environ = {"HTTPS_PROXY": f"127.0.0.1:{proxy.port}", "AWS_CA_BUNDLE": ca_file, **REGION}
    with pytest.raises(errors.Unavailable, match=r"(?i)certificate"):
        await client.run(port_to(client, environ, "https://elsewhere.example").send(Ask()))
    assert proxy.places[-1] == "elsewhere.example:443"


async def test_without_tls_the_request_itself_is_the_proxy_s(client: Client, server: ScriptedServer) -> None:
    environ = {"http_proxy": f"http://user:pw@127.0.0.1:{server.port}", **REGION}
    port = port_to(client, environ, "http://table.example:8000")
    assert (await client.run(port.send(Ask()))).status == 200
    (request,) = server.received
    assert request.line == "POST http://table.example:8000/ HTTP/1.1"
    assert request.headers["host"] == "table.example:8000"
    assert request.headers["proxy-authorization"] == "Basic " + base64.b64encode(b"user:pw").decode()
    assert "proxy-authorization" not in request.headers["authorization"]


async def test_a_database_goes_through_it(secure: ScriptedServer, proxy: ConnectProxy, ca_file: str) -> None:
    environ = through(proxy, ca_file)
    source = StaticCredentials(SOME_CREDENTIALS)
    with connect("aws", environ=environ, credentials=source, cursor_keys=["sixteen characters"]) as db:
        assert db.run(db.port.send(Ask())).status == 200
    async with connect_async("aws", environ=environ, credentials=source, cursor_keys=["sixteen characters"]) as adb:
        assert (await adb.port.send(Ask())).status == 200
    assert len(proxy.asked) == 2


EXCEPTIONS = [
    "*",
    "",
    "amazonaws.com",
    ".AMAZONAWS.com",
    "mazonaws.com",
    "a.b, table.example",
    "table.example:80",
    "table.example:8000",
    "example",
    "eu-central-1",
    "10.0.0.0/8",
    "10.0.0.7",
    ",",
    " . ",
]
CASES: list[dict[str, str]] = [
    {},
    {"HTTPS_PROXY": "http://p:1"},
    {"https_proxy": "http://p:1", "HTTPS_PROXY": "http://q:2"},
    {"https_proxy": "", "HTTPS_PROXY": "http://q:2"},
    {"HTTP_PROXY": "http://p:1"},
    {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"},
    {"http_proxy": "http://p:1", "REQUEST_METHOD": "GET"},
    {"ALL_PROXY": "http://p:1"},
    *[{"HTTPS_PROXY": "http://p:1", "HTTP_PROXY": "http://p:1", "NO_PROXY": names} for names in EXCEPTIONS],
    {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*", "no_proxy": "nothing"},
]
URLS = [f"https://{HOST}", "http://table.example:8000", "http://table.example", "https://10.0.0.7"]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("environ", CASES, ids=str)
def test_the_choice_is_botocore_s(environ: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name == "REQUEST_METHOD":
            monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    scheme, _, authority = url.partition("://")
    expected = botocore.utils.get_environ_proxies(url).get(scheme)
    found = proxy_for(environ, scheme, authority)
    assert (None if found is None else f"http://{found.address}") == expected


def test_what_a_proxy_s_address_may_be() -> None:
    for text in ("http://[::1]:3128", "[::1]:3128"):
        found = proxy_for({"https_proxy": text}, "https", "a")
        assert found == Proxy("::1", 3128)
        assert found.asks_for("::2", 443).startswith(b"CONNECT [::2]:443 HTTP/1.1\r\nHost: [::2]:443\r\n")
    assert proxy_for({"https_proxy": "proxy.example"}, "https", "a") == Proxy("proxy.example", 80)


@pytest.mark.parametrize(
    "text", ["https://u:canary@p:1", "socks5://u:canary@p:1", "http://u:canary@p:x", "http://", "http://[x"]
)
def test_other_proxies_are_refused_by_name(text: str) -> None:
    with pytest.raises(errors.NotConfigured, match="HTTPS_PROXY") as raised:
        endpoint_for("aws", environ={"HTTPS_PROXY": text, **REGION})
    assert "canary" not in str(raised.value)


def test_loopback_needs_no_proxy() -> None:
    both = {"HTTPS_PROXY": "http://p:1", "HTTP_PROXY": "http://p:1"}
    for url in ("http://127.0.0.1:8000", "https://localhost", "http://[::1]:8000"):
        assert endpoint_for(url, environ=both).proxy is None
