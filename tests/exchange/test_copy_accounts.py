"""From one account to another: each side signs with its own keys, and refuses those of the other."""

from __future__ import annotations

import threading  # noqa: TID251
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from singletable import Database, connect
from singletable.cli.app import app
from singletable.errors import Denied
from singletable.exchange import TableCopy
from singletable.operations.answers import encode
from singletable.wire.credentials import Credentials, StaticCredentials
from singletable_local import Engine
from tests.exchange.people import fill, people
from tests.support.raw import all_items

PROFILES = {"prod": "AKIAPROD", "test": "AKIATEST"}
_REFUSAL = encode(
    {"__type": "com.amazon.coral.service#UnrecognizedClientException", "message": "The security token is invalid."}
)


@contextmanager
def account(key: str) -> Iterator[str]:
    """An engine that answers requests signed with one access key, and refuses all others, as an account does."""
    with Engine.start(None, exposed=True) as engine:

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if f"Credential={key}/" not in self.headers["authorization"]:
                    self._answer(400, _REFUSAL)
                    return
                try:
                    with urlopen(Request(engine.url, body, dict(self.headers))) as found:
                        self._answer(found.status, found.read())
                except HTTPError as error:
                    with error:
                        self._answer(error.code, error.read())

            def _answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", "application/x-amz-json-1.0")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is told."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


@pytest.fixture
def accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The addresses of two accounts, by the profiles that their keys are in."""
    lines = [
        f"[{name}]\naws_access_key_id = {key}\naws_secret_access_key = secret{key}\nregion = us-east-1\n"
        for name, key in PROFILES.items()
    ]
    (tmp_path / "credentials").write_text("".join(lines))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with ExitStack() as stack:
        yield {name: stack.enter_context(account(key)) for name, key in PROFILES.items()}


@contextmanager
def connected(accounts: dict[str, str], name: str, profile: str) -> Iterator[Database]:
    """The account of one profile, by the keys of a profile."""
    keys = StaticCredentials(Credentials(PROFILES[profile], f"secret{PROFILES[profile]}"))
    with connect(accounts[name], credentials=keys) as db:
        yield db


@pytest.mark.embedded("its accounts are engines of their own")
def test_each_side_has_its_own_keys(accounts: dict[str, str]) -> None:
    with connected(accounts, "prod", "prod") as source, connected(accounts, "test", "test") as target:
        fill(source, 6, 10)
        copied = TableCopy(source, target, people).run(keep_personal=True)
        assert copied.written == len(source.run(all_items(source.port, "people"))) > 0
        assert target.check(people) == []
    with connected(accounts, "test", "prod") as stranger, pytest.raises(Denied):
        stranger.check(people)


@pytest.mark.embedded("its accounts are engines of their own")
def test_by_the_command(accounts: dict[str, str]) -> None:
    with connected(accounts, "prod", "prod") as source:
        fill(source, 6, 10)
    said = ["copy", "tests.exchange.people:people", "--from", accounts["prod"], "--to", accounts["test"], "--yes"]
    profiles = ["--from-profile", "prod", "--to-profile", "test", "--keep-personal"]
    refused = CliRunner().invoke(app, [*said, "--from-profile", "prod", "--to-profile", "prod"])
    assert refused.exit_code != 0
    assert "denied" in refused.output.lower() or "credentials" in refused.output.lower()
    done = CliRunner().invoke(app, [*said, *profiles])
    assert done.exit_code == 0, done.output
    with connected(accounts, "test", "test") as target:
        assert target.check(people) == []
