"""Forms carry what the page showed: in two tabs nothing is lost, and everybody can be chosen, of however many."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest

from examples.manhunt.tests.oncall import DAY, HOUR, alarm, at, hunted, on, person, policy_of, rota_of
from examples.manhunt.tests.support import DOMAIN, OTHER, World
from examples.manhunt.tests.test_refused_forms import asking
from examples_shared.testing.forms_table import FORMS, edits_of, pattern_of
from examples_shared.testing.page_forms import Edit, Page, form_at, forms_from, pairs_of, save, two_tabs, uncarried
from manhunt.choosing import CHOICES
from manhunt.model import Contact, Policy, QuietHours, Rota, Stage


def edits(world: World) -> Iterator[Edit]:
    """Each form that changes something, and what two people type into it."""
    ada, zora = person(world, "Ada"), person(world, "Zora")
    world.app.set_quiet_hours(DOMAIN, ada.contact_id, QuietHours("22:00", "07:00", "UTC"))
    (method,) = world.app.contact_with_methods(DOMAIN, ada.contact_id).methods
    page = f"/contacts/{ada.contact_id}"
    yield Edit(page, f"{page}/name", {"name": "Ada B"}, {"name": "Ada C"})
    yield Edit(page, f"{page}/quiet-hours", {"ends": "08:00"}, {"zone": "Europe/Berlin"})
    of_method = f"{page}/methods/{method.method_id}"
    yield Edit(page, of_method, {"enabled": None}, {"destination": "ada@example.net"})
    yield Edit(page, of_method, {"order": "7"}, {"wait_seconds": "60"})
    rota = rota_of(world, zora, ada, zora)
    page = f"/rotas/{rota.rota_id}"
    yield Edit(page, page, {f"turn-{zora.contact_id}": "", f"turn-{zora.contact_id}.2": ""}, {"name": "Days"})
    yield Edit(page, page, {"turn_seconds": "8h"}, {"zone": "Europe/Berlin"})
    policy = policy_of(world, ([at(zora), at(ada)], 300), ([on(rota)], 60))
    page = f"/policies/{policy.policy_id}"
    yield Edit(page, page, {"stage-0": f"contact:{ada.contact_id}"}, {"repeats": "3"})
    yield Edit(page, page, {"name": "New"}, {"wait-1": "90s"})
    yield Edit(page, page, {"stage-0": None}, {"links": "Room=https://meet.example.org/1"})


async def test_in_two_tabs_the_later_save_is_refused(world: World) -> None:
    tried: set[str] = set()
    for edit in edits(world):
        await two_tabs(asking(world), edit)
        tried.add(pattern_of("manhunt", edit.action))
    assert tried == edits_of("manhunt")


async def test_every_form_that_changes_something_says_what_it_was(world: World) -> None:
    list(edits(world))
    for _, form in await forms_from(asking(world), "/", 80):
        if form.method == "post" and FORMS["manhunt"][pattern_of("manhunt", form.action)] == "edit":
            assert uncarried(form) == [], form.action


async def test_what_was_removed_is_not_restored_by_what_was_added(world: World) -> None:
    """Two people change the same: the second sees both, and sends again what they typed, without whom was removed."""
    ada, zora, grace = (person(world, name) for name in ("Ada", "Zora", "Grace"))
    rota = rota_of(world, zora, ada)
    page, ask = f"/rotas/{rota.rota_id}", asking(world)
    one, other = [await form_at(ask, page, page, "zone") for _ in range(2)]
    await save(ask, one, {f"turn-{zora.contact_id}": ""})
    refused = await save(ask, other, {"add-1": "Grace"})
    assert (refused.status_code, "the turn of Zora is" in refused.text) == (409, True)
    (back,) = [each for each in Page(refused.text).forms if each.problem]
    assert f"turn-{zora.contact_id}" not in back.names
    assert (await save(ask, back, {})).status_code == 303
    assert world.app.rota_by_id(DOMAIN, rota.rota_id).members == [ada.contact_id, grace.contact_id]


async def test_who_was_deleted_since_stays_until_somebody_takes_them_out(world: World) -> None:
    """A form that changes a name changes nothing else, whoever is gone meanwhile."""
    ada, zora = person(world, "Ada"), person(world, "Zora")
    rota = rota_of(world, zora, ada, zora)
    policy = policy_of(world, ([at(zora), at(ada)], 300))
    world.app.delete_contact(DOMAIN, zora.contact_id)
    ask = asking(world)
    for page in (f"/rotas/{rota.rota_id}", f"/policies/{policy.policy_id}"):
        assert (await save(ask, await form_at(ask, page, page, "name"), {"name": "New"})).status_code == 303
    assert world.app.rota_by_id(DOMAIN, rota.rota_id).members == rota.members
    assert world.app.policy_by_id(DOMAIN, policy.policy_id).stages == policy.stages
    page = f"/rotas/{rota.rota_id}"
    assert (await save(ask, await form_at(ask, page, page, "name"), {"add-1": "Ada"})).status_code == 303
    assert world.app.rota_by_id(DOMAIN, rota.rota_id).members == [*rota.members, ada.contact_id]


# --- many -------------------------------------------------------------------------------------------------------------
@pytest.fixture(params=[101, pytest.param(1_000, marks=pytest.mark.soak)])
def crowd(world: World, request: pytest.FixtureRequest) -> World:
    """So many contacts, rotas and policies, the last of each called Zora."""
    began, names = world.app.now(), [f"Person {number:04}" for number in range(request.param - 1)] + ["Zora"]

    def make(name: str) -> None:
        made = world.app.create_contact(DOMAIN, name)
        world.app.create_rota(DOMAIN, f"Rota of {name}", [made.contact_id], starts_at=began, turn_seconds=DAY)
        world.app.create_policy(DOMAIN, f"Policy of {name}", [Stage([at(made)], 300)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, names))
    world.app.create_contact(OTHER, "Foreign")
    return world


class Offered(HTMLParser):
    """What a page's list of choices holds."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.values: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "option" and (value := dict(attrs).get("value")) is not None:
            self.values.append(value)


async def test_everybody_can_be_chosen_and_nobody_is_dropped(crowd: World) -> None:
    ask, app = asking(crowd), crowd.app
    zora = app.db.page(Contact.by_domain(DOMAIN, "Zora")).items[0]
    first = app.contacts_of_domain(DOMAIN, limit=1).items[0]

    async def send(page: str, action: str, field: str, **typed: str) -> str:
        answer = await save(ask, await form_at(ask, page, action, field), typed)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    made = await send("/rotas", "/rotas", "starts_at", **{"name": "Nights", "add-1": "Zora", "add-3": first.name})
    rota = app.rota_by_id(DOMAIN, made.removeprefix("/rotas/"))
    assert rota.members == [zora.contact_id, first.contact_id]
    await send(made, made, "zone", name="Another name")
    assert app.rota_by_id(DOMAIN, rota.rota_id).members == rota.members
    until = f"{crowd.app.now().year + 1}-01-01T00:00"
    await send(made, f"{made}/overrides", "ends_at", contact="Zora", ends_at=until)
    assert [each.contact_id for each in app.rota_by_id(DOMAIN, rota.rota_id).overrides] == [zora.contact_id]

    stages = {"name": "Alarm", "add-0-1": "Zora", "add-0-2": "Another name", "add-2-1": "Rota of Zora", "wait-2": "1h"}
    made = await send("/policies/new", "/policies", "links", **stages)
    policy = app.policy_by_id(DOMAIN, made.removeprefix("/policies/"))
    of_zora = app.db.page(Rota.by_domain(DOMAIN, "Rota of Zora")).items[0]
    assert policy.stages == [Stage([at(zora), on(rota)], 300), Stage([on(of_zora)], HOUR)]
    await send(made, made, "repeats", name="Another alarm")
    assert app.policy_by_id(DOMAIN, policy.policy_id).stages == policy.stages
    await send(made, made, "repeats", **{"add-0-1": first.name})
    assert app.policy_by_id(DOMAIN, policy.policy_id).stages[0].targets == [at(zora), on(rota), at(first)]

    made = await send("/incidents", "/incidents", "summary", summary="dark", policy="Policy of Zora")
    incident = app.incidents_of_domain(DOMAIN).items[0]
    await check_offers(crowd)
    await check_reassigning(crowd)
    assert incident.policy_id == app.db.page(Policy.by_domain(DOMAIN, "Policy of Zora")).items[0].policy_id


async def check_offers(crowd: World) -> None:
    """The names are all there, and no other domain's."""
    ask = asking(crowd)
    for page, kinds in (("/rotas", 1), ("/policies/new", 2), ("/incidents", 1)):
        answer = await ask("GET", page, "")
        values = Offered(answer.text).values
        assert len({value for value in values if "Person" in value or "Zora" in value}) >= kinds * min(CHOICES, 101)
        assert "Foreign" not in answer.text


async def check_reassigning(crowd: World) -> None:
    """To the last of many, by a page that reads no names each second."""
    incident = alarm(crowd, policy_of(crowd, ([at(person(crowd, "Ada"))], 300)))
    crowd.app.create_contact(DOMAIN, "Yves")
    person(crowd, "Zoe")
    page, ask = f"/incidents/{incident.incident_id}", asking(crowd)
    form = await form_at(ask, page, f"{page}/acknowledge", "target-1")
    form.action = f"{page}/reassign"
    answer = await save(ask, form, {"by": "Ada", "target-2": "Zoe"})
    assert answer.status_code == 303
    crowd.drain()
    assert hunted(crowd, incident) == ["Zoe"]
    live = await ask("GET", f"{page}?live=1", "")
    assert "<option" not in live.text, "a page that is asked for each second reads no names"


# --- what is typed ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("Nobody", "Nothing is called 'Nobody'"),
        ("Foreign", "Nothing is called 'Foreign'"),
        ("Ada", "Several are called 'Ada': type contact:"),
        ("x" * 3000, "too long"),
    ],
)
async def test_a_name_that_is_not_one_persons_is_refused_beside_its_field(world: World, typed: str, said: str) -> None:
    for _ in range(2):
        person(world, "Ada")
    world.app.create_contact(OTHER, "Foreign")
    ask = asking(world)
    form = await form_at(ask, "/rotas", "/rotas", "starts_at")
    answer = await save(ask, form, {"name": "Nights", "add-2": typed})
    assert answer.status_code == 422
    (back,) = [each for each in Page(answer.text).forms if each.problem]
    assert (back.blamed, said in back.problem) == ("add-2", True), back.problem
    assert dict(pairs_of(back, {}))["add-2"] == typed


async def test_of_two_of_one_name_each_can_be_chosen(world: World) -> None:
    twins = [person(world, "Ada") for _ in range(2)]
    named = person(world, "contact:Eve")
    ask = asking(world)
    offered = Offered((await ask("GET", "/rotas", "")).text).values
    assert {value for value in offered if value.startswith("contact:")} == {
        f"contact:{each.contact_id}" for each in (*twins, named)
    }
    form = await form_at(ask, "/rotas", "/rotas", "starts_at")
    members = {"add-1": f"contact:{twins[1].contact_id}", "add-2": f"contact:{named.contact_id}"}
    made = (await save(ask, form, {"name": "Nights", **members})).headers["location"]
    rota = world.app.rota_by_id(DOMAIN, made.removeprefix("/rotas/"))
    assert rota.members == [twins[1].contact_id, named.contact_id]
