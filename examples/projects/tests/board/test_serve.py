"""`serve` as a process: what scripts rely on, real clients in Node, the end by a signal, and the next start."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.projects.tests.board.conftest import SECRET
from examples.projects.tests.board.replicache import needs_node, replicache_client, waiting
from examples.projects.tests.board.serving import Server, served, until
from examples_shared.testing.busy import busy_loops
from examples_shared.testing.commandline import CommandLine

SHAPE = {"kind": "rect", "x": 1, "y": 2, "text": "a"}


def push(server: Server, project: str, *mutations: tuple[str, dict[str, Any]], client: str = "script") -> None:
    """As a script does it, without a token."""
    listed = [
        {"clientID": client, "id": number, "name": name, "args": args, "timestamp": 1}
        for number, (name, args) in enumerate(mutations, 1)
    ]
    send(server, "push", project, client, {"pushVersion": 1, "mutations": listed})


def send(server: Server, verb: str, project: str, client: str, body: dict[str, Any]) -> Any:
    whose = {"clientGroupID": f"g-{client}", "profileID": "p", "schemaVersion": ""}
    answer = httpx.post(f"{server.url}/replicache/{verb}", params={"project": project}, json=body | whose)
    return answer.raise_for_status().json()


def head_of(server: Server, project: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{server.url}/api/projects/{project}").raise_for_status().json()
    return found


def test_the_command_line_and_the_server_share_their_files(tmp_path: Path) -> None:
    with served(tmp_path, boards=["p"]) as server:
        command = CommandLine("projects", server.target, ("--blobs", str(server.blobs)))
        command("create", "plan", "--name", "Plan")
        push(server, "plan", ("put_shape", {"id": "s1", "shape": SHAPE}))
        until(lambda: head_of(server, "plan")["version"] == 1)
        assert command("show", "plan", "shapes/s1", "--json").json == SHAPE
        command("restore", "plan", "0")
        assert head_of(server, "plan")["shapes"] == {}


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_somebody_listens(tmp_path: Path, end: signal.Signals) -> None:
    with served(tmp_path, boards=["p"]) as server:
        push(server, "p", ("put_shape", {"id": "s1", "shape": SHAPE}))
        with httpx.stream("GET", f"{server.url}/replicache/pokes", params={"project": "p"}, timeout=20) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "event: poke"
            status = server.stop(end)
            assert list(lines)[-1] == ""  # the stream was ended, not broken off
        assert status == (0 if end == signal.SIGTERM else 1)
        log = server.log.read_text()
        assert "graceful shutdown exceeded" not in log, "nobody waited for the stream to time out"
        assert "Traceback" not in log
        server.start()
        assert head_of(server, "p")["shapes"] == {"s1": SHAPE}


def test_what_was_acknowledged_survives_a_crash(tmp_path: Path) -> None:
    with served(tmp_path, boards=["p"]) as server:
        for number in range(3):
            push(server, "p", ("put_shape", {"id": f"s{number}", "shape": SHAPE}), client=f"c{number}")
            server.kill()
            server.start()
        # Whoever looks next sees to it that what waits is applied.
        until(lambda: len(send(server, "pull", "p", "last", {"pullVersion": 1, "cookie": None})["patch"]) == 2 + 3)
        assert len(head_of(server, "p")["shapes"]) == 3


@needs_node
def test_two_clients_in_node_agree_online_offline_and_after_a_crash(tmp_path: Path) -> None:
    with (
        served(tmp_path, boards=["node"]) as server,
        replicache_client(server.url, "node") as one,
        replicache_client(server.url, "node") as other,
    ):
        one.mutate("put_shape", id="s1", shape=SHAPE)
        until(lambda: "shapes/s1" in other.view())
        for client in (one, other):
            client.ask("online", value=False)
        one.mutate("move_shape", id="s1", x=50, y=50)
        other.mutate("put_comment", id="c1", comment={"text": "hello"})
        other.mutate("rename", name="Other's")
        one.mutate("rename", name="One's")
        assert "comments/c1" not in one.view()
        other.ask("online", value=True)
        until(lambda: waiting(other) == 0)
        server.kill()
        one.ask("online", value=True)
        one.mutate("delete_shape", id="nothing")
        server.start()
        until(lambda: waiting(one) == waiting(other) == 0 and one.view() == other.view())
        assert one.view() == {
            "project": {"name": "One's", "description": ""},
            "shapes/s1": SHAPE | {"x": 50, "y": 50},
            "comments/c1": {"text": "hello"},
        }


@needs_node
def test_a_token_from_the_command_line_lets_a_real_client_in(tmp_path: Path) -> None:
    with served(tmp_path, "--auth", "--secret", SECRET) as server:
        command = CommandLine("projects", server.target, ("--blobs", str(server.blobs)))
        command("create", "plan", "--organisation", "example.com")
        ada, eve = (command("token", user, "--secret", SECRET).last_line for user in ("ada@example.com", "eve@evil"))
        with (
            replicache_client(server.url, "plan", ada) as client,
            replicache_client(server.url, "plan", eve) as foreign,
        ):
            client.mutate("rename", name="Ada's")
            foreign.mutate("rename", name="Eve's")
            until(lambda: waiting(client) == 0)
            assert client.view() == {"project": {"name": "Ada's", "description": ""}}
            assert waiting(foreign) == 1


@pytest.mark.timeout(300)
def test_it_starts_on_a_busy_machine(tmp_path: Path) -> None:
    with busy_loops(2), served(tmp_path, boards=["p"]) as server:
        push(server, "p", ("put_shape", {"id": "s1", "shape": SHAPE}))
        until(lambda: head_of(server, "p")["shapes"] == {"s1": SHAPE})


def test_only_this_machine_reaches_a_demo(tmp_path: Path) -> None:
    command = CommandLine("projects", f"local:{tmp_path}/other.db", ("--blobs", str(tmp_path)))
    assert "--auth" in command("serve", "--host", "0.0.0.0", check=False).err
    assert "--secret" in command("serve", "--auth", check=False).err
    with served(tmp_path) as server, pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.2:{server.port}")
