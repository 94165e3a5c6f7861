"""What rotas, policies and incidents cost: requests and units, as the README lists them."""

from __future__ import annotations

from collections.abc import Callable

from examples.manhunt.tests.oncall import alarm, at, on, person, policy_of, rota_of, searches_of
from examples.manhunt.tests.support import DOMAIN, World

Cost = tuple[int, float, float]
"""Requests, read units, write units."""


def test_they_cost_what_the_readme_says(world: World) -> None:
    def cost(action: Callable[[], object]) -> Cost:
        with world.db.meter() as meter:
            action()
        return meter.requests, meter.read_units, meter.write_units

    app, ada = world.app, person(world, "Ada")
    assert cost(lambda: rota_of(world, ada)) == (1, 0, 5)
    rota = rota_of(world, ada)
    policy = policy_of(world, ([on(rota)], 300), ([at(ada)], 300))
    assert cost(lambda: alarm(world, policy)) == (4, 3, 19)
    assert cost(lambda: alarm(world, policy, "lamp")) == (5, 4, 21)
    assert cost(lambda: alarm(world, policy, "lamp")) == (3, 2, 4)
    assert cost(lambda: app.change_rota(DOMAIN, rota.rota_id, name="days")) == (3, 2, 4)
    assert cost(lambda: app.calendar(DOMAIN, rota.rota_id, app.now(), app.now().replace(year=2027))) == (1, 1, 0)
    world.drain()
    first, second = app.incidents_of_domain(DOMAIN).items
    id = first.incident_id
    assert cost(lambda: app.incident_with_all(DOMAIN, id)) == (1, 1, 0)
    assert cost(lambda: app.incidents_of_domain(DOMAIN)) == (1, 0.5, 0)
    assert cost(lambda: app.acknowledge(DOMAIN, id, by="Grace")) == (2, 1, 12)
    assert cost(lambda: app.resolve(DOMAIN, id, by="Grace"))[:2] == (2, 1)
    (search,) = searches_of(world, second)
    assert cost(lambda: app.answer(search.search_id, 0, how="link")) == (4, 3, 19)
