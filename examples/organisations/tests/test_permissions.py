"""Whether somebody may, by which groups, what else they may, and who may: with what each costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from random import Random

import httpx
import pytest
from fastapi import Depends, FastAPI

from examples.organisations.tests.files import FOLDER, Expected, expected
from examples.organisations.tests.http import TOKENS, Client
from examples.organisations.tests.support import INVITED, MEMBER, OWNER, STRANGER, Stopped, stopping
from examples_shared.testing.databases import fresh
from organisations import organisations
from organisations.errors import Invalid, NoSuchOrganisation, NoSuchService, NotAllowed
from organisations.github_file import read
from organisations.groups import ADMINS, OWNERS, Group
from organisations.import_github import import_file
from organisations.model import OrganisationMember
from organisations.roles import CAPABILITIES, Capability, Role
from organisations.service import Service
from organisations.web import equip, requires

CREW, PILOTS, SLASHES = Group("crew"), Group("pilots", "api"), Group("a/b", "c/d")


@pytest.fixture
def org(app: Service, org: str) -> str:
    app.put_service(org, "c/d", "Slashes")
    app.add_to_groups(org, MEMBER, [CREW, PILOTS, SLASHES], by=OWNER)
    app.invite(org, INVITED, [CREW, PILOTS])
    return org


def test_may_is_one_read_of_one_record(app: Service, org: str) -> None:
    with app.db.meter() as meter:
        assert app.may(MEMBER, org, service="api", group="pilots")
    assert (meter.requests, meter.read_units) == (1, 1.0)
    assert app.may(MEMBER.upper(), org, service="api")
    assert app.may(MEMBER, org, service="c/d", group="a/b")
    assert app.may(MEMBER, org, group="crew")
    assert app.may(OWNER, org, group="owner")
    assert not app.may(MEMBER, org, service="api", group="crew")
    assert not app.may(MEMBER, org, service="c", group="d/a/b")
    assert not app.may(MEMBER, org, service="ap")
    assert not app.may(MEMBER, org, group="pilots")
    assert not app.may(MEMBER, "nowhere", group="crew")
    assert not app.may(STRANGER, org, group="crew")


def test_an_invitation_may_nothing_until_it_is_accepted(app: Service, org: str) -> None:
    assert not app.may(INVITED, org, group="crew")
    assert app.reach(INVITED) == []
    app.accept(org, INVITED)
    assert app.may(INVITED, org, group="crew")


def test_taken_away_is_taken_away(app: Service, org: str) -> None:
    app.remove_from_groups(org, MEMBER, [PILOTS])
    assert not app.may(MEMBER, org, service="api")
    app.delete_service(org, "c/d")
    assert not app.may(MEMBER, org, service="c/d")
    app.remove_user(org, MEMBER)
    assert not app.may(MEMBER, org, group="crew")


def test_who_asks_is_a_member(app: Service, org: str) -> None:
    with app.db.meter() as meter:
        assert app.may(MEMBER, org, group="crew", by=OWNER)
    assert (meter.requests, meter.read_units) == (1, 2.0)
    for by in (INVITED, STRANGER):
        for ask in (app.may, app.explain):
            with pytest.raises(NoSuchOrganisation):
                ask(MEMBER, org, group="crew", by=by)
        with pytest.raises(NoSuchOrganisation):
            app.who_may(org, group="crew", by=by)
    with pytest.raises(Invalid, match="a service, a group, or both"):
        app.may(MEMBER, org)


def test_explained_by_groups_with_who_gave_them_and_when(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [Group("more", "api")])
    with app.db.meter() as meter:
        found = app.explain(MEMBER, org, service="api")
    assert (meter.requests, meter.read_units) == (2, 3.0)
    assert [(g.group, g.by) for g in found.grants] == [(Group("more", "api"), None), (PILOTS, OWNER)]
    before = app.explain(MEMBER, org, service="api", group="pilots").grants
    app.add_to_groups(org, MEMBER, [PILOTS, Group("new")])
    assert app.explain(MEMBER, org, service="api", group="pilots").grants == before
    assert app.explain(STRANGER, org, service="api").grants == []
    app.accept(org, INVITED)
    assert [g.by for g in app.explain(INVITED, org, group="crew").grants] == [None]


def test_giving_what_is_held_takes_two_requests_and_writes_what_is_new(app: Service, org: str) -> None:
    with app.db.meter() as meter:
        app.add_to_groups(org, MEMBER, [CREW, Group("deck")])
    assert meter.requests == 2
    with app.db.meter() as meter:
        app.add_to_groups(org, MEMBER, [CREW, Group("deck")], by=OWNER)
    assert (meter.requests, meter.write_units) == (1, 0.0)


def test_reach_is_one_query_over_all_organisations(app: Service, org: str) -> None:
    other = app.create_organisation("Other", owner=MEMBER).organisation_id
    with app.db.meter() as meter:
        first, second = app.reach(MEMBER)
    assert meter.requests == 1
    assert (first.organisation_id, first.groups) == (org, ["crew"])
    assert first.services == {"api": ["pilots"], "c/d": ["a/b"]}
    assert (second.organisation_id, second.groups) == (other, ["owner"])


def test_who_may_is_paged_by_group_and_address(app: Service, org: str) -> None:
    app.add_to_groups(org, OWNER, [PILOTS, Group("more", "api")])
    with app.db.meter() as meter:
        page = app.who_may(org, service="api", limit=2, by=MEMBER)
    assert meter.requests == 2
    assert [(m.group, m.email) for m in page] == [("more", OWNER), ("pilots", OWNER)]
    rest = app.who_may(org, service="api", limit=2, after=page.cursor, by=MEMBER)
    assert [(m.group, m.email) for m in rest] == [("pilots", MEMBER)]
    assert rest.cursor is None
    assert [m.email for m in app.who_may(org, service="c/d", group="a/b")] == [MEMBER]
    assert [m.email for m in app.who_may(org, group="owner")] == [OWNER]
    with pytest.raises(NoSuchService):
        app.who_may(org, service="nope")


def test_a_service_that_is_being_deleted_has_nobody(app: Service, org: str) -> None:
    with pytest.raises(Stopped):
        stopping(app, 1).delete_service(org, "api")
    with pytest.raises(NoSuchService):
        app.who_may(org, service="api")
    app.delete_service(org, "api")


# --- roles ------------------------------------------------------------------------------------------------------------
def test_capabilities_are_data(app: Service, org: str) -> None:
    assert CAPABILITIES[Role.OWNER] == set(Capability)
    assert CAPABILITIES[Role.MEMBER] < CAPABILITIES[Role.ADMIN] < CAPABILITIES[Role.OWNER]
    assert {Capability.MANAGE_SERVICES, Capability.ASSIGN_GROUPS} <= CAPABILITIES[Role.ADMIN]


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("capability", Capability)
def test_every_capability_is_held_to_for_every_role(app: Service, org: str, role: Role, capability: Capability) -> None:
    """What the table says is what happens."""
    app.put_user("edsger@example.org")
    app.invite(org, "edsger@example.org", [OWNERS] if role is Role.OWNER else [ADMINS] if role is Role.ADMIN else [])
    app.accept(org, "edsger@example.org")
    by = "edsger@example.org"
    acts: dict[Capability, Callable[[], object]] = {
        Capability.READ: lambda: app.organisation_details(org, by=by),
        Capability.LEAVE: lambda: app.leave(org, by),
        Capability.MANAGE_SERVICES: lambda: app.put_service(org, "web", "Web", by=by),
        Capability.ASSIGN_GROUPS: lambda: app.add_to_groups(org, MEMBER, [Group("deck")], by=by),
        Capability.SEND_MESSAGES: lambda: app.send_message(org, CREW, "Ahoy", by=by),
        Capability.SEE_TRAIL: lambda: app.trail(org, by=by),
        Capability.INVITE: lambda: app.invite(org, STRANGER, by=by),
        Capability.APPOINT: lambda: app.add_to_groups(org, MEMBER, [ADMINS], by=by),
        Capability.REMOVE_MEMBERS: lambda: app.remove_user(org, MEMBER, by=by),
        Capability.RENAME: lambda: app.put_organisation(org, "New", by=by),
        Capability.DELETE: lambda: app.delete_organisation(org, by=by),
    }
    act = acts[capability]
    if capability in CAPABILITIES[role]:
        act()
    else:
        with pytest.raises(NotAllowed, match=r"only owners"):
            act()


# --- over HTTP --------------------------------------------------------------------------------------------------------
async def test_the_api_answers_and_explains(app: Service, org: str) -> None:
    ada = Client(app, OWNER)
    asked = f"/organisations/{org}/may?user={MEMBER}&service=c%2Fd&group=a%2Fb"
    assert (await ada.ask("GET", asked)).json() == {"may": True}
    assert (await ada.ask("GET", f"{asked}x")).json() == {"may": False}
    (grant,) = (await ada.ask("GET", f"{asked}&explain=true")).json()["grants"]
    assert (grant["group"], grant["given_by"]) == ({"name": "a/b", "service_id": "c/d"}, OWNER)
    assert (await ada.ask("GET", f"/organisations/{org}/may?user={MEMBER}")).status_code == 422
    said = (await ada.ask("GET", f"/organisations/{org}/who-may?service=api")).json()
    assert [(p["email"], p["group"]) for p in said["people"]] == [(MEMBER, "pilots")]
    own = (await Client(app, MEMBER).ask("GET", f"/users/{MEMBER}/groups")).json()
    assert own[0]["services"] == {"api": ["pilots"], "c/d": ["a/b"]}
    role = (await Client(app, MEMBER).ask("GET", f"/organisations/{org}/role")).json()
    assert (role["role"], sorted(role["may"])) == ("member", ["leave", "read"])


async def test_another_applications_route_is_guarded_by_a_dependency(app: Service, org: str) -> None:
    builds = FastAPI()
    equip(builds, app, TOKENS)
    guard = requires("api", "pilots")

    @builds.get("/builds/{organisation_id}")
    def of_pilots(who: str = Depends(guard)) -> str:
        return who

    transport = httpx.ASGITransport(builds)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def status(email: str | None) -> int:
            signed = {"Authorization": f"Bearer {TOKENS.issue(email)}"} if email else {}
            return (await client.get(f"/builds/{org}", headers=signed)).status_code

        with app.db.meter() as meter:
            assert await status(MEMBER) == 200
        assert (meter.requests, meter.read_units) == (1, 1.0)
        assert [await status(who) for who in (OWNER, STRANGER, None)] == [403, 403, 401]


# --- the real file ----------------------------------------------------------------------------------------------------
FILE = FOLDER / "kubernetes.yaml"


@pytest.fixture(scope="module")
def kubernetes() -> Iterator[Service]:
    """The application over the real file, for tests that change nothing."""
    if not FILE.exists():
        pytest.skip("the folder of real organisation files is not here")
    with fresh() as db:
        db.create_table(organisations)
        app = Service(db)
        import_file(db, read(FILE.read_text(), FILE.stem), app.now(), lambda done, total: None)
        yield app


def held(want: Expected) -> set[tuple[str, str, str | None]]:
    """Every (person, group, service) of the file."""
    own = {(person, group, None) for group, people in want.groups.items() for person in people}
    return own | {
        (person, group, service)
        for service, groups in want.services.items()
        for group, people in groups.items()
        for person in people
    }


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
def test_may_is_what_the_file_says_and_nothing_else(kubernetes: Service, count: int) -> None:
    """All 3,790 of kubernetes are allowed, so many others are denied, each for the price of one record."""
    want, app, db = expected(FILE), kubernetes, kubernetes.db
    allowed = held(want)
    random = Random(14)
    people, services = sorted(want.people), sorted(want.services)
    pairs = sorted({(group, service) for _, group, service in allowed}, key=str)
    denied: set[tuple[str, str, str | None]] = set()
    while len(denied) < count:
        group, service = random.choice(pairs)
        asked = random.choice(people), group, random.choice([service, *services[:3]])
        if asked not in allowed:
            denied.add(asked)
    sizes = {m.email: size_of(m) for m in db.all(OrganisationMember.of_organisation("kubernetes"))}
    for is_allowed, some in ((True, allowed), (False, denied)):
        with ThreadPoolExecutor(4) as threads:
            answers = threads.map(lambda one: app.may(one[0], "kubernetes", group=one[1], service=one[2]), some)
            assert [one for one, answer in zip(some, answers, strict=True) if answer is not is_allowed] == []
    busiest = max(people, key=lambda person: sizes[person])
    for person in (*random.sample(people, 50), busiest):
        with db.meter() as meter:
            app.may(person, "kubernetes", group="member")
        assert (meter.requests, meter.read_units) == (1, ceil(sizes[person] / 4096)) == (1, 1)
    assert sizes[busiest] > 2000


def size_of(member: OrganisationMember) -> int:
    """About the size of a record: its texts."""
    return 300 + sum(len(text) for text in member.groups)


def test_who_may_and_reach_are_what_the_file_says(kubernetes: Service) -> None:
    want, app, db = expected(FILE), kubernetes, kubernetes.db
    service = max(want.services, key=lambda id: sum(map(len, want.services[id].values())))
    found: set[tuple[str, str]] = set()
    after, requests = None, 0
    while True:
        with db.meter() as meter:
            page = app.who_may("kubernetes", service=service, limit=25, after=after)
        assert (meter.requests, meter.read_units <= 5) == (2, True)
        found |= {(m.group, m.email) for m in page}
        requests += 1
        if (after := page.cursor) is None:
            break
    assert found == {(group, person) for group, people in want.services[service].items() for person in people}
    assert requests > 1
    for person in Random(14).sample(sorted(want.people), 40):
        with db.meter() as meter:
            (reached,) = app.reach(person)
        assert meter.requests == 1
        assert set(reached.groups) == {group for group, people in want.groups.items() if person in people}
        assert {(s, g) for s, groups in reached.services.items() for g in groups} == {
            (s, g) for s, groups in want.services.items() for g, people in groups.items() if person in people
        }
