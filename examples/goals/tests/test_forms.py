"""Forms carry what the page showed: in two tabs nothing that either person stored is lost."""

from __future__ import annotations

import pytest

from examples.goals.tests.test_refused_forms import asking, team
from examples_shared.testing.forms_table import FORMS, edits_of, pattern_of
from examples_shared.testing.page_forms import Edit, Page, PageForm, form_at, forms_from, save, two_tabs, uncarried
from goals import Service
from goals.model import Role, TeamRole, User

__all__ = ["team"]
EDITS = (
    Edit("/users/ada", "/rename-user/ada", {"name": "Ada B"}, {"name": "Ada C"}),
    Edit("/teams/T?show=people", "/rename-team/T", {"name": "Wings"}, {"name": "Motors"}),
)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.action)
async def test_in_two_tabs_the_later_name_is_refused(team: Service, edit: Edit) -> None:
    await two_tabs(asking(team), edit)


@pytest.mark.parametrize(
    ("page", "action", "field"),
    [("/goals/g?show=edit", "/change-goal/g", "title"), ("/goals/g", "/check-in/g", "text")],
)
async def test_in_two_tabs_the_later_progress_is_refused(team: Service, page: str, action: str, field: str) -> None:
    """Its page shows both, attribute by attribute; what only one of the two changed comes together."""
    ask = asking(team)
    one, other, third = [await form_at(ask, page, action, field) for _ in range(3)]
    assert (await save(ask, one, {"progress": "30", "text": "a"})).status_code == 303
    refused = await save(ask, other, {"progress": "40", "text": "b"})
    assert (refused.status_code, "from <q>0</q> to <q>30</q>" in refused.text) == (409, True)
    assert (await save(ask, third, {"status": "on the way", "text": "c"})).status_code == 303
    goal = team.check_goal("g", "ada", next(iter(team.rights_on_goal("g", "ada").capabilities)))
    assert (goal.progress, goal.status) == (30, "on the way")


def person_in(form: PageForm) -> str:
    """Whose form it is; empty for one in which somebody is typed."""
    return next((each.values[0] for each in form.controls if each.name == "id" and each.kind == "hidden"), "")


@pytest.mark.parametrize(
    ("page", "action"), [("/teams/T?show=people", "/set-team-role/T"), ("/goals/g?show=people", "/set-role/g")]
)
async def test_in_two_tabs_the_later_role_is_refused(team: Service, page: str, action: str) -> None:
    """Whoever was removed meanwhile does not come back, and who is there already is not made something else."""
    team.set_role("g", User.by_id("grace"), Role.CONTRIBUTOR)
    ask, role = asking(team), "manager" if "team" in action else "lead"
    forms = {person_in(form): form for form in Page((await ask("GET", page, "")).text).forms if form.action == action}
    refused = await save(ask, forms[""], {"id": "grace", "role": role})
    assert (refused.status_code, "already" in refused.text) == (409, True)
    leave = action.replace("set-team-role", "leave-team").replace("set-role", "leave")
    assert (await ask("POST", leave, "id=grace")).status_code == 303
    late = await save(ask, forms["grace"], {"role": role})
    assert (late.status_code, "changed meanwhile" in late.text) == (409, True)


async def test_every_form_that_changes_something_says_what_it_was(team: Service) -> None:
    seen: set[str] = set()
    for _, form in await forms_from(asking(team), "/", 80):
        if form.method == "post" and FORMS["goals"][pattern_of("goals", form.action)] == "edit":
            assert uncarried(form) == [], form.action
            assert any(name.startswith("was_") for name in form.names), form.action
            seen.add(pattern_of("goals", form.action))
    assert seen == edits_of("goals")


async def test_past_the_hundredth_everybody_has_a_form(team: Service) -> None:
    """People are paged, and each has a form of their own; whoever is on no page yet is typed."""
    for number in range(101):
        team.create_user(f"u{number:03}", f"User {number:03}")
        team.set_team_role("T", f"u{number:03}", TeamRole.MEMBER)
    found, page, ask = set[str](), "/teams/T?show=people", asking(team)
    while page:
        shown = Page((await ask("GET", page, "")).text)
        found |= {person_in(form) for form in shown.forms if form.action == "/set-team-role/T"}
        page = next((link for link in shown.links if "after=" in link), "")
    assert {f"u{number:03}" for number in range(101)} <= found
