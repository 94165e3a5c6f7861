"""Importing: what is stored afterwards is what the file says, for small files here and for real ones where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.organisations.tests.files import FILES, expected, lower
from examples.organisations.tests.http import Client
from examples.organisations.tests.support import Stopped, member, raw_items, stopping
from organisations.check import check
from organisations.errors import Invalid
from organisations.github_file import read
from organisations.groups import Group
from organisations.import_github import import_file
from organisations.service import Service
from singletable import Database

SMALL = """\
name: Small
admins: [Ada]
members: [grace, Linus]
teams:
  ci/cd: {members: [GRACE], repos: {api: write, "we/b": read}}
  'odd: "%2F" ünï': {maintainers: [linus]}
"""


@pytest.fixture
def empty(db: Database) -> Service:
    return Service(db)


def load(app: Service, text: str, id: str = "small") -> list[tuple[int, int]]:
    """Import, and the signs of progress."""
    told: list[tuple[int, int]] = []
    import_file(app.db, read(text, id), app.now(), lambda done, total: told.append((done, total)))
    return told


def groups(app: Service, id: str = "small") -> dict[str, list[str]]:
    return {name: [p.shown for p in people] for name, people in app.organisation_details(id).groups.items()}


def test_people_are_members_with_the_files_spelling(empty: Service) -> None:
    told = load(empty, SMALL)
    assert told[0] == (0, 19)
    assert told[-1] == (19, 19)
    odd = {"ci/cd": ["grace"], 'odd: "%2F" ünï': ["Linus"]}
    assert groups(empty) == {"owner": ["Ada"], "member": ["Linus", "grace"], **odd}
    services = empty.organisation_details("small").services
    assert {id: list(service.groups) for id, service in services.items()} == {"api": ["write"], "we/b": ["read"]}
    found = empty.user_details("LINUS")
    assert [(m.organisation_id, m.organisation_name) for m in found.organisations] == [("small", "Small")]
    assert check(empty.db) == []


def test_again_writes_nothing(empty: Service) -> None:
    load(empty, SMALL)
    before = raw_items(empty.db)
    with empty.db.meter() as meter:
        assert load(empty, SMALL) == [(0, 0)]
    assert meter.write_units == 0
    assert raw_items(empty.db) == before


def test_another_file_leaves_the_first_organisation_alone(empty: Service) -> None:
    load(empty, SMALL)
    before = raw_items(empty.db)
    load(empty, "name: Other\nadmins: [LINUS]\nteams: {crew: {members: [ada, new]}}", "other")
    after = raw_items(empty.db)
    assert {place: item for place, item in after.items() if place in before} == before
    assert [m.organisation_id for m in empty.user_details("ada").organisations] == ["other", "small"]
    assert check(empty.db) == []


def test_a_changed_file_changes_what_is_stored(empty: Service) -> None:
    load(empty, SMALL)
    load(empty, "name: Renamed\nadmins: [grace]\nteams: {crew: {members: [Ada], repos: {web: admin}}}")
    assert groups(empty) == {"owner": ["grace"], "crew": ["Ada"]}
    seen = empty.organisation_details("small")
    assert list(seen.services) == ["web"]
    assert seen.organisation.organisation_name == "Renamed"
    assert empty.user_details("linus").organisations == ()
    assert empty.user_details("ada").organisations[0].organisation_name == "Renamed"
    assert check(empty.db) == []


def test_users_who_are_there_keep_their_details(empty: Service) -> None:
    before = empty.put_user("Grace", first_name="Grace", phone="1")
    load(empty, SMALL)
    assert empty.get_user("grace") == before
    found = member(empty, "small", "grace")
    assert found is not None
    assert (found.first_name, found.phone, found.shown_as) == ("Grace", "1", "Grace")


def test_imported_people_go_on_as_everybody(empty: Service) -> None:
    load(empty, SMALL)
    empty.add_to_groups("small", "GRACE", [Group("crew")], by="ada")
    empty.put_user("Linus", first_name="L")
    empty.put_organisation("small", "New", by="ada")
    empty.delete_service("small", "api", by="ada")
    empty.remove_user("small", "grace", by="ada")
    assert [p.first_name for p in empty.organisation_details("small").members] == ["", "L"]
    assert check(empty.db) == []


@pytest.mark.parametrize("at", range(5))
def test_broken_off_it_is_finished_by_the_next(empty: Service, at: int) -> None:
    people = ", ".join(f"Person-{n}" for n in range(150))
    text = f"admins: [Ada]\nteams: {{crew: {{members: [{people}], repos: {{api: write}}}}}}"
    with pytest.raises(Stopped):
        load(stopping(empty, at), text)
    load(empty, text)
    assert len(groups(empty)["crew"]) == 150
    assert check(empty.db) == []


def test_somebody_in_many_groups_fits(empty: Service) -> None:
    teams = ", ".join(f"team-number-{n}: {{members: [ada]}}" for n in range(8000))
    load(empty, f"admins: [ada]\nteams: {{{teams}}}")
    assert len(groups(empty)) == 8001


def test_somebody_in_more_groups_than_an_item_holds_is_refused_by_size(empty: Service) -> None:
    teams = ", ".join(f"team-number-{n}: {{members: [ada]}}" for n in range(16000))
    with pytest.raises(Invalid, match="login 'ada' is in 16001 groups"):
        load(empty, f"admins: [ada]\nteams: {{{teams}}}")
    assert raw_items(empty.db) == {}
    load(empty, SMALL)
    assert groups(empty)["owner"] == ["Ada"]


# --- real files -------------------------------------------------------------------------------------------------------
real = pytest.mark.parametrize("path", FILES or [None], ids=lambda p: p.stem if p else "none")


@pytest.fixture
def file(path: Path | None) -> Path:
    if path is None:
        pytest.skip("the folder of real organisation files is not here")
    return path


@real
def test_a_real_file_is_stored_exactly(empty: Service, file: Path) -> None:
    want = expected(file)
    load(empty, file.read_text(), file.stem)
    with empty.db.meter() as meter:
        seen = empty.organisation_details(file.stem)
    assert meter.requests == 1
    assert lower({name: [p.shown for p in people] for name, people in seen.groups.items()}) == want.groups
    assert {
        id: lower({name: [p.shown for p in people] for name, people in service.groups.items()})
        for id, service in seen.services.items()
    } == want.services
    assert {p.email for p in seen.members} == want.people
    assert check(empty.db) == []


@real
async def test_the_api_tells_a_real_file_exactly(empty: Service, file: Path) -> None:
    want = expected(file)
    load(empty, file.read_text(), file.stem)
    somebody = min(want.people)
    answer = await Client(empty, somebody).ask("GET", f"/organisations/{file.stem}/details")
    said = answer.json()
    assert lower(said["groups"]) == want.groups
    assert {id: lower(service["groups"]) for id, service in said["services"].items()} == want.services
    assert {person["email"] for person in said["members"]} == want.people


def test_all_real_files_together(empty: Service) -> None:
    if not FILES:
        pytest.skip("the folder of real organisation files is not here")
    for file in FILES:
        load(empty, file.read_text(), file.stem)
    for file in FILES:
        assert lower(groups(empty, file.stem)) == expected(file).groups
    assert check(empty.db) == []
