"""What the tests of the application share: a port that stops or is overtaken in the middle, and raw items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from organisations import organisations
from organisations.model import OrganisationMember, UserOrganisation
from organisations.service import Service
from singletable import Database
from tests.support.raw import all_items

OWNER, MEMBER, INVITED, STRANGER = (f"{name}@example.org" for name in ("ada", "grace", "linus", "barbara"))

Hook = Callable[[], object]


class Stopped(Exception):
    """The program ended here."""


class InterruptedPort:
    """The port of a database, with something that happens just before its n-th request, counted from 0."""

    def __init__(self, port: Any, hooks: Mapping[int, Hook]) -> None:
        self._port, self._hooks, self._sent = port, hooks, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def send(self, operation: Any) -> Any:
        self._before()
        return await self._port.send(operation)

    async def send_all(self, operations: Any) -> Any:
        self._before()
        return await self._port.send_all(operations)

    def _before(self) -> None:
        hook = self._hooks.get(self._sent)
        self._sent += 1
        if hook is not None:
            hook()


def overtaken(app: Service, at: int, hook: Hook) -> Service:
    """The same application, with `hook` run just before its request number `at`, counted from 0."""
    port: Any = InterruptedPort(app.db.port, {at: hook})
    return Service(Database(port, app.db.target), app.now, app.new_id)


def stopping(app: Service, at: int) -> Service:
    """The same application, which ends just before its request number `at`."""

    def stop() -> None:
        raise Stopped

    return overtaken(app, at, stop)


def raw_items(db: Database) -> dict[tuple[str, str], dict[str, Any]]:
    """Every item as the engine stores it, by its key."""
    items = db.run(all_items(db.port, organisations.name))
    return {(item["id"]["S"], item["rng"]["S"]): item for item in items}


def member(app: Service, organisation_id: str, email: str) -> OrganisationMember | None:
    return app.db.get(OrganisationMember.of_organisation(organisation_id, email).consistent())


def user_side(app: Service, organisation_id: str, email: str) -> UserOrganisation | None:
    return app.db.get(UserOrganisation.of_user(email, organisation_id).consistent())
