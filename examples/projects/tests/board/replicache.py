"""Real Replicache clients in Node, each a process of its own, at a board's server."""

from __future__ import annotations

from tests.sync.replicache.node import NodeClient, needs_node

__all__ = ["NodeClient", "needs_node", "replicache_client", "waiting"]


def replicache_client(url: str, project: str, token: str = "") -> NodeClient:
    """A client of a project, which pulls all the time. It ends with its `with` block."""
    auth = f"Bearer {token}" if token else ""
    return NodeClient(f"{url}/replicache", project, name=project, auth=auth, pullInterval=250)


def waiting(client: NodeClient) -> int:
    """Edits that the server has not confirmed."""
    found: int = client.ask("pending")
    return found
