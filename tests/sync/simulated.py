"""A Replicache client in Python: what it keeps, what it sends, and what it makes of an answer.

It holds the server's view as of a cookie, and its own mutations that the server has not said to have seen, which are
run again on top of each new view (rebase). An answer that a real client would drop or raise at fails the test.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

View = dict[str, Any]


def _put_shape(view: View, id: str, shape: Any) -> None:
    view[f"shapes/{id}"] = shape


def _move_shape(view: View, id: str, x: float, y: float) -> None:
    if f"shapes/{id}" in view:
        view[f"shapes/{id}"] = {**view[f"shapes/{id}"], "x": x, "y": y}


def _delete_shape(view: View, id: str) -> None:
    view.pop(f"shapes/{id}", None)


def _put_comment(view: View, id: str, comment: Any) -> None:
    view[f"comments/{id}"] = comment


def _delete_comment(view: View, id: str) -> None:
    view.pop(f"comments/{id}", None)


def _rename(view: View, name: str) -> None:
    view["project"] = {**view.get("project", {}), "name": name}


def _explode(view: View) -> None:
    """On the client it works; the server refuses it."""
    view["project"] = {**view.get("project", {}), "name": "exploded"}


MUTATORS: dict[str, Callable[..., None]] = {
    "put_shape": _put_shape,
    "move_shape": _move_shape,
    "delete_shape": _delete_shape,
    "put_comment": _put_comment,
    "delete_comment": _delete_comment,
    "rename": _rename,
    "explode": _explode,
}


def order_of(cookie: Any) -> int:
    """By what a real client compares cookies."""
    order: Any = cookie["order"] if isinstance(cookie, dict) else cookie
    assert type(order) is int
    return order


@dataclass(frozen=True)
class Pending:
    """A mutation that the server has not said to have seen."""

    id: int
    name: str
    args: Any


@dataclass
class Client:
    """One tab of a browser profile."""

    group: str
    client: str
    cookie: Any = None
    base: View = field(default_factory=View)
    last_ids: dict[str, int] = field(default_factory=dict[str, int])
    pending: list[Pending] = field(default_factory=list[Pending])
    made: int = 0
    lost: bool = False
    """The server knows nothing of it: a real client begins anew."""

    @property
    def version(self) -> int:
        """The version that its cookie names."""
        number: Any = self.cookie["version"]
        assert type(number) is int
        return number

    @property
    def view(self) -> View:
        """What its user sees: the server's view with its own mutations on top."""
        found = copy.deepcopy(self.base)
        for each in self.pending:
            MUTATORS[each.name](found, **each.args)
        return found

    def mutate(self, name: str, /, **args: Any) -> None:
        self.made += 1
        self.pending.append(Pending(self.made, name, args))

    def push(self) -> dict[str, Any]:
        """The body of a push: all that is pending, each time."""
        return {
            "pushVersion": 1,
            "clientGroupID": self.group,
            "profileID": f"profile-{self.group}",
            "schemaVersion": "1",
            "mutations": [
                {"clientID": self.client, "id": each.id, "name": each.name, "args": each.args, "timestamp": 100.49}
                for each in self.pending
            ],
        }

    def pushed(self, answer: Any) -> None:
        if isinstance(answer, dict) and "error" in answer:
            assert answer["error"] == "ClientStateNotFound", answer
            self.lost = True

    def pull(self) -> dict[str, Any]:
        return {
            "pullVersion": 1,
            "clientGroupID": self.group,
            "profileID": f"profile-{self.group}",
            "schemaVersion": "1",
            "cookie": self.cookie,
        }

    def pulled(self, asked: dict[str, Any], answer: Any) -> bool:
        """Take an answer in. False when it belongs to a cookie that is no longer the client's."""
        if "error" in answer:
            assert answer["error"] == "ClientStateNotFound", answer
            self.lost = True
            return False
        if asked["cookie"] != self.cookie:
            return False
        assert set(answer) == {"cookie", "lastMutationIDChanges", "patch"}
        changes: dict[str, int] = answer["lastMutationIDChanges"]
        for client, last_id in changes.items():
            assert last_id >= self.last_ids.get(client, 0), "a last mutation id went back"
        assert self.cookie is None or order_of(answer["cookie"]) >= order_of(self.cookie), "the cookie went back"
        if answer["cookie"] == self.cookie:
            assert not answer["patch"], "a patch without a new cookie is dropped"
            assert not changes, "ids without a new cookie are dropped"
            return True
        for operation in answer["patch"]:
            self._apply(operation)
        self.cookie = answer["cookie"]
        self.last_ids |= changes
        seen = self.last_ids.get(self.client, 0)
        self.pending = [each for each in self.pending if each.id > seen]
        return True

    def _apply(self, operation: dict[str, Any]) -> None:
        match operation["op"]:
            case "clear":
                self.base.clear()
            case "put":
                self.base[operation["key"]] = operation["value"]
            case "del":
                assert operation["key"] in self.base, "what is deleted was there"
                del self.base[operation["key"]]
            case other:
                raise AssertionError(f"no operation of the protocol: {other}")
