"""Forms carry what the page showed: in two tabs nothing is lost, and every service can be chosen, of however many."""

from __future__ import annotations

import pytest

from examples.organisations.tests.support import MEMBER, OWNER
from examples.organisations.tests.test_refused_forms import asking
from examples_shared.testing.forms_table import FORMS, edits_of, pattern_of
from examples_shared.testing.page_forms import Edit, form_at, forms_from, save, two_tabs, uncarried
from organisations.groups import Group
from organisations.service import Service


async def test_in_two_tabs_the_later_save_is_refused(app: Service, org: str) -> None:
    page = f"/o/{org}"
    edits = [
        Edit("/", "/me", {"first_name": "Olga"}, {"phone": "+15551234567"}),
        Edit(page, f"{page}/rename", {"name": "Acme 2"}, {"name": "Acme 3"}),
        Edit(f"{page}/who-may?service=api", f"{page}/services/rename", {"name": "API 2"}, {"name": "API 3"}),
    ]
    assert {pattern_of("organisations", edit.action) for edit in edits} == edits_of("organisations")
    for edit in edits:
        await two_tabs(asking(app), edit)


async def test_every_form_that_changes_something_says_what_it_was(app: Service, org: str) -> None:
    for _, form in await forms_from(asking(app), "/", 80):
        if form.method == "post" and FORMS["organisations"][pattern_of("organisations", form.action)] == "edit":
            assert uncarried(form) == [], form.action


async def test_a_service_that_is_there_is_not_renamed_by_making_it(app: Service, org: str) -> None:
    page, ask = f"/o/{org}/services", asking(app)
    answer = await save(ask, await form_at(ask, page, page, "service"), {"service": "api", "name": "Other"})
    assert (answer.status_code, "already" in answer.text) == (409, True)
    rename = await form_at(ask, f"/o/{org}/who-may?service=api", f"{page}/rename", "name")
    app.delete_service(org, "api", by=OWNER)
    assert (await save(ask, rename, {"name": "Other"})).status_code == 404
    assert "Other" not in (await ask("GET", page, "")).text


@pytest.mark.parametrize("count", [101, pytest.param(1_000, marks=pytest.mark.soak)])
async def test_every_service_can_be_chosen(app: Service, org: str, count: int) -> None:
    for number in range(count):
        app.put_service(org, f"s{number:04}", f"Service {number:04}", by=OWNER)
    page, ask, last = f"/o/{org}/person?who={MEMBER}", asking(app), f"s{count - 1:04}"
    form = await form_at(ask, page, f"/o/{org}/give", "service")
    assert last in next(each for each in form.controls if each.name == "service").options
    assert (await save(ask, form, {"service": last, "group": "pilots"})).status_code == 303
    assert [grant.group for grant in app.grants_of(MEMBER, org).grants] == [Group("pilots", last)]
