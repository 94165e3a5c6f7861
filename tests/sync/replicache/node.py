"""A real Replicache client in a Node process, for tests: `client.mjs` behind functions.

with NodeClient(url, "p1", name="ada") as client:
    client.mutate("rename", name="Plan")
    client.settle()
    client.view()["project"]
"""

from __future__ import annotations

import copy
import json
import select
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = Path(__file__).with_name("client.mjs")
PATIENCE_SECONDS = 30.0

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (ROOT / "node_modules" / "replicache").is_dir(),
    reason="node or node_modules/replicache is not there: npm ci",
)


def _said(url: str, project: str, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    places = {verb: f"{url}/{verb}?project={project}" for verb in ("push", "pull")}
    return {"name": name, **places, **options}


class NodeClient:
    """One client of a project at the endpoints below a URL: `<url>/push?project=...`."""

    def __init__(self, url: str, project: str, *, name: str = "test", **options: Any) -> None:
        said = _said(url, project, name, options)
        node = shutil.which("node")
        assert node is not None
        self._client: dict[str, str] = {}
        self._process = subprocess.Popen(
            [node, str(SCRIPT), json.dumps(said)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )

    def beside(self, url: str, project: str, *, name: str, **options: Any) -> NodeClient:
        """One more client in this one's process, which ends with it."""
        other = copy.copy(self)
        other._client = {"client": name}
        other.ask("open", **_said(url, project, name, options))
        return other

    def __enter__(self) -> NodeClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def ask(self, verb: str, **given: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"verb": verb, **self._client, **given}) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE_SECONDS)
        assert ready, f"the client said nothing to {verb} for {PATIENCE_SECONDS} s"
        answer = json.loads(self._process.stdout.readline() or '{"error": "the client has ended"}')
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def mutate(self, name: str, /, **args: Any) -> None:
        self.ask("mutate", name=name, args=args)

    def view(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("view")
        return found

    def until_lost(self, verb: str) -> None:
        """Pull or push until the client has heard that the server knows nothing of it."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not self.ask("events")["stateNotFound"]:
            assert time.monotonic() < until, f"it was never told: {self.ask('events')}"
            self.ask(verb)

    def settle(self) -> None:
        """Push what is pending, and pull until all of it has come back."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.ask("pending"):
            assert time.monotonic() < until, f"mutations are still pending: {self.ask('events')}"
            self.ask("pull")
        self.ask("pull")
