"""Whatever is done, in whatever order and by whom, at the same time or one after the other: what must hold, holds."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from examples.organisations.tests.support import INVITED, MEMBER, OWNER, STRANGER
from organisations.check import check
from organisations.errors import ApplicationError
from organisations.groups import ADMINS, OWNERS, Group
from organisations.service import Service

PEOPLE = (OWNER, MEMBER, INVITED, STRANGER, "nobody@example.org")
GROUPS = (OWNERS, ADMINS, Group("crew"), Group("deck"), Group("pilots", "api"), Group("a/b", "web/1"))
SERVICES = ("api", "web/1")


def actions(app: Service, org: str, random: Random) -> list[Callable[[], object]]:
    """Each action once, about anybody, by anybody."""
    who, service = random.choice(PEOPLE), random.choice(SERVICES)
    by = random.choice((None, *PEOPLE))
    some = random.sample(GROUPS, random.randint(1, 3))
    return [
        lambda: app.put_user(who, first_name=random.choice("ABC")),
        lambda: app.invite(org, who, some, by=by),
        lambda: app.accept(org, who),
        lambda: app.accept(org, who),
        lambda: app.decline(org, who),
        lambda: app.put_organisation(org, random.choice("XYZ"), by=by),
        lambda: app.put_service(org, service, "S", by=by),
        lambda: app.delete_service(org, service, by=by),
        lambda: app.add_to_groups(org, who, some, by=by),
        lambda: app.remove_from_groups(org, who, some, by=by),
        lambda: app.remove_user(org, who, by=by),
        lambda: app.leave(org, who),
        lambda: app.withdraw(org, who, by=by),
        lambda: app.refresh_organisation(org, by=by),
        lambda: app.refresh_user(who),
        lambda: app.create_organisation("Another", owner=who),
    ]


def attempt(action: Callable[[], object]) -> bool:
    """Whether the action was done; a refusal is an answer like any other."""
    try:
        action()
    except ApplicationError:
        return False
    return True


@pytest.mark.parametrize("seed", range(8))
def test_one_after_the_other(app: Service, org: str, seed: int) -> None:
    random = Random(seed)
    done = [attempt(random.choice(actions(app, org, random))) for _ in range(80)]
    assert 10 < sum(done) < 80
    assert check(app.db) == []


@pytest.mark.parametrize("seed", range(4))
def test_at_the_same_time(app: Service, org: str, seed: int) -> None:
    def some(number: int) -> int:
        random = Random(f"{seed} {number}")
        return sum(attempt(random.choice(actions(app, org, random))) for _ in range(25))

    with ThreadPoolExecutor(8) as threads:
        done = sum(threads.map(some, range(8)))
    assert 20 < done < 200
    assert check(app.db) == []
