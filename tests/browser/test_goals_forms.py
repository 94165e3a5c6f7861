"""The forms of the goals application in a real browser, without JavaScript, each person with a browser of their own:
from nothing to a team at work, what roles allow, two who change the same, and what people say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from examples_shared.testing.serving import serving
from goals import Service, records
from goals.model import Goal, Role, Team, TeamRole, User
from goals.principal import SessionTokens
from singletable import connect

SECRET = "a secret of the browser's tests, long enough"
NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>"
Page = Any


@dataclass(frozen=True)
class Site:
    """The application as it is served, and its data."""

    url: str
    app: Service


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Team T with ada, who manages it, and grace, a member; the goals `g` and `h`, which both lead."""
    folder = tmp_path_factory.mktemp("forms")
    target = f"local:{folder}/goals.db"
    with connect(target) as db:
        db.create_table(records)
        app = Service(db)
        for name in ("ada", "grace"):
            app.create_user(name, name.title())
        app.create_team("T", "Engines", manager_id="ada")
        app.set_team_role("T", "grace", TeamRole.MEMBER)
        for id in ("g", "h"):
            app.create_goal("Fly", lead=User.by_id("ada"), holder=Team.by_id("T"), goal_id=id)
            app.set_role(id, User.by_id("grace"), Role.LEAD)
        with serving("goals", target, folder / "log", "serve", "--secret", SECRET) as url:
            yield Site(url, app)


@pytest.fixture
def as_user(browser: Any, site: Site) -> Iterator[Callable[..., Page]]:
    """A browser of somebody's own, signed in through the page. Nothing runs in it, and nothing foreign is loaded."""
    contexts: list[Any] = []
    asked: list[str] = []

    def sign_in(user: str, width: int = 1180) -> Page:
        context = browser.new_context(
            base_url=site.url, java_script_enabled=False, viewport={"width": width, "height": 900}
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto("/sign-in")
        page.get_by_label("Token").fill(SessionTokens([SECRET]).issue(user))
        press(page, "Sign in", inside="main")
        return page

    yield sign_in
    for context in contexts:
        context.close()
    assert all(address.startswith(site.url) for address in asked)


def press(page: Page, button: str, inside: str = "body") -> None:
    """A button, and the page that answers."""
    with page.expect_navigation(wait_until="load"):
        page.locator(inside).get_by_role("button", name=button, exact=True).click()


def fill(page: Page, **fields: str) -> None:
    for name, value in fields.items():
        page.locator(f"main form [name={name}]:not([type=hidden])").first.fill(value)


def heading(page: Page) -> str:
    found: str = page.locator("h1").inner_text()
    return found


def test_from_nothing_to_a_team_at_work(as_user: Callable[..., Page]) -> None:
    mary = as_user("mary")
    assert "not a user here yet" in mary.locator("main").inner_text()
    fill(mary, name="Mary Somerville")
    press(mary, "Begin")

    mary.get_by_text("New team").click()
    fill(mary, name="Night Sky")
    press(mary, "Create the team")
    assert (heading(mary), mary.url.rsplit("/", 1)[1]) == ("Night Sky", "night-sky")

    mary.get_by_role("link", name="New goal").click()
    fill(mary, title="A map of the moon", due="2027")
    press(mary, "Create the goal")
    assert heading(mary) == "A map of the moon"
    assert mary.locator("aside .name").all_inner_texts() == ["Mary Somerville"]

    goal = mary.url
    for form, title in (("New key result", "A hundred craters"), ("New sub-goal", "The far side")):
        mary.goto(f"{goal}?show=new-part")
        mary.get_by_role("form", name=form).get_by_label("Title").fill(title)
        mary.get_by_role("form", name=form).get_by_label("Teams").fill("night-sky")
        press(mary, f"Add the {form.removeprefix('New ')}")
        assert title in mary.locator(".parts").all_inner_texts()[-1]

    mary.get_by_role("link", name="The far side").click()
    mary.get_by_role("link", name="Tree").click()
    assert mary.locator(".tree a").all_inner_texts() == ["A map of the moon", "A hundred craters", "The far side"]
    assert mary.locator("[aria-current] a").inner_text() == "The far side"
    mary.goto("/teams/night-sky")
    assert sorted(mary.locator("article h3").all_inner_texts()) == ["A map of the moon", "The far side"]


def test_an_observer_reads_until_a_manager_says_otherwise(as_user: Callable[..., Page], site: Site) -> None:
    ada = as_user("ada")
    ada.goto("/teams/T?show=people")
    form = ada.locator("form.card", has_text="Add somebody")
    form.get_by_label("User id").fill("kurt")
    form.get_by_label("Name, if they are new here").fill("Kurt")
    form.get_by_label("Role").select_option("observer")
    press(ada, "Add")

    kurt = as_user("kurt")
    kurt.goto("/goals/h")
    assert kurt.locator("main form").count() == 1  # to subscribe
    kurt.goto("/teams/T?show=people")
    assert kurt.get_by_role("button", name="Set").count() == 0
    assert kurt.goto("/teams/T?show=new-goal").status == 403
    assert "a manager of the team or a member of the team" in heading(kurt)

    ada.get_by_label("Role of Kurt").select_option("member")
    with ada.expect_navigation():
        ada.locator("li", has_text="Kurt").get_by_role("button", name="Set").click()
    kurt.goto("/teams/T?show=new-goal")
    fill(kurt, title="Prove it")
    press(kurt, "Create the goal")
    assert heading(kurt) == "Prove it"
    assert site.app.rights_on_goal(kurt.url.rsplit("/", 1)[1], "kurt").may("manage-goal")


def test_two_who_change_the_same_see_both(as_user: Callable[..., Page], site: Site) -> None:
    ada, grace = as_user("ada"), as_user("grace")
    for page in (ada, grace):
        page.goto("/goals/g?show=edit")
    fill(grace, title="Fly high", due="2028")
    press(grace, "Save")
    assert heading(grace) == "Fly high"

    fill(ada, title="Fly far", status="late")
    press(ada, "Save")
    assert "Somebody else changed the same" in ada.get_by_role("alert").inner_text()
    said = ada.locator("#theirs-title").inner_text()
    assert "Fly" in said
    assert "Fly high" in said
    values = {name: ada.locator(f"input[name={name}]").input_value() for name in ("title", "status", "due")}
    assert values == {"title": "Fly far", "status": "late", "due": "2028"}
    stored = site.app.db.get(Goal.by_id("g"))
    assert stored is not None
    assert (stored.title, stored.status) == ("Fly high", "")

    press(ada, "Save")
    changed = site.app.db.get(Goal.by_id("g"))
    assert changed is not None
    assert (changed.title, changed.status, changed.due) == ("Fly far", "late", "2028")


def test_what_people_say(as_user: Callable[..., Page], site: Site) -> None:
    ada, grace = as_user("ada"), as_user("grace")
    for page in (ada, grace):
        page.goto("/goals/h")
        page.get_by_text("Check in", exact=True).first.click()
    fill(grace, progress="70", status="on track", text="Nearly")
    press(grace, "Check in")
    assert grace.locator(".said li").first.locator(".step").inner_text() == "0% → 70% · on track"

    fill(ada, progress="20", text="Hardly")
    press(ada, "Check in")
    assert "0" in ada.locator("#theirs-progress").inner_text()
    assert "70" in ada.locator("#theirs-progress").inner_text()
    assert ada.locator("textarea").input_value() == "Hardly"
    press(ada, "Check in")
    assert ada.locator(".said .text").all_inner_texts() == ["Hardly", "Nearly"]

    ada.get_by_text("Comment", exact=True).first.click()
    ada.locator("details", has_text="Your comment").locator("textarea").fill(f"{NASTY}\nSecond line")
    press(ada, "Comment")
    assert ada.locator(".said .text").first.inner_text() == f"{NASTY}\nSecond line"
    assert ada.locator(".said img").count() == 0
    assert "2 check-ins" in ada.locator("#activity > .meta").inner_text()
    press(ada, "Delete", inside=".said li:first-child")
    assert ada.locator(".said .text").all_inner_texts() == ["Hardly", "Nearly"]
    counted = site.app.activity_of("h", limit=9).goal
    assert (counted.check_ins, counted.comments) == (2, 0)
    press(ada, "Subscribe")
    press(ada, "Unsubscribe")


def test_nothing_that_was_typed_is_lost(as_user: Callable[..., Page]) -> None:
    ada = as_user("ada")
    ada.goto("/teams/T?show=new-goal")
    fill(ada, title="A title that took an hour", lead="nobody at all")
    press(ada, "Create the goal")
    assert "There is no user 'nobody at all'" in ada.locator("main").inner_text()
    assert ada.locator("[name=title]").input_value() == "A title that took an hour"
    assert ada.locator("[name=lead]").input_value() == "nobody at all"


def test_by_the_keyboard_alone(as_user: Callable[..., Page], site: Site) -> None:
    app = site.app
    app.create_goal("Typed", lead=User.by_id("ada"), holder=Team.by_id("T"), goal_id="typed")
    page = as_user("ada")
    page.goto("/goals/typed")
    page.locator("summary", has_text="Comment").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("By keys")
    page.keyboard.press("Tab")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.locator(".said .text").all_inner_texts() == ["By keys"]
    app.create_key_result("typed", "Reached by Tab", lead=User.by_id("ada"))
    page.goto("/goals/typed?show=tree")
    page.locator(".tree a").first.focus()
    page.keyboard.press("Tab")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert heading(page) == "Reached by Tab"


def test_deleting_asks_first(as_user: Callable[..., Page], site: Site) -> None:
    site.app.create_goal("Gone soon", lead=User.by_id("ada"), holder=Team.by_id("T"), goal_id="gone")
    ada = as_user("ada")
    ada.goto("/goals/gone?show=edit")
    ada.get_by_text("Delete this goal").click()
    ada.get_by_role("button", name="Delete the goal").click()  # the box is not ticked: the browser stays
    assert site.app.db.get(Goal.by_id("gone")) is not None
    ada.get_by_role("checkbox").check()
    press(ada, "Delete the goal")
    assert site.app.db.get(Goal.by_id("gone")) is None


def test_a_team_and_a_user_go(as_user: Callable[..., Page], site: Site) -> None:
    app = site.app
    app.create_user("tove", "Tove")
    app.create_team("gone", "Gone soon", manager_id="tove")
    app.create_goal("Stays", lead=User.by_id("tove"), holder=Team.by_id("gone"), goal_id="stays")
    tove = as_user("tove")
    tove.goto("/teams/gone?show=people")
    tove.get_by_text("Rename or delete the team").click()
    form = tove.locator("details", has_text="Rename or delete")
    form.get_by_label("Name").fill("Gone now")
    press(tove, "Rename")
    assert heading(tove) == "Gone now"
    tove.get_by_text("Rename or delete the team").click()
    tove.get_by_role("checkbox").check()
    press(tove, "Delete the team")
    tove.goto("/users/tove")
    assert tove.locator("article h3").all_inner_texts() == ["Stays"]
    tove.get_by_text("You", exact=True).click()
    tove.get_by_label("Name", exact=True).fill("Tove J")
    press(tove, "Change")
    assert heading(tove) == "Tove J"
    tove.get_by_text("You", exact=True).click()
    tove.get_by_role("checkbox").check()
    press(tove, "Delete me")
    assert "not a user here yet" in tove.locator("main").inner_text()
    assert app.goal("stays").leads == ()
    assert app.db.check(records) == []


def test_signing_out(as_user: Callable[..., Page]) -> None:
    ada = as_user("ada")
    ada.goto("/teams/T")
    press(ada, "Sign out")
    ada.goto("/teams/T?show=new-goal")
    assert heading(ada) == "Sign in"
    ada.get_by_label("Token").fill("forged")
    press(ada, "Sign in", inside="main")
    assert "not good" in ada.get_by_role("alert").inner_text()


def test_every_page_fits_a_phone(as_user: Callable[..., Page], site: Site) -> None:
    app = site.app
    app.create_goal("W" * 120, lead=User.by_id("ada"), holder=Team.by_id("T"), goal_id="wide")
    app.create_key_result("wide", "V" * 120, lead=User.by_id("ada"))
    app.comment("wide", "ada", "x" * 300)
    page = as_user("ada", width=390)
    shows = ("people", "subscribers", "tree", "edit", "new-part")
    for path in ("/", "/teams/T?show=people", "/teams/T?show=new-goal", "/users/ada", "/sign-in", "/goals/wide"):
        paths = [path, *(f"{path}?show={show}" for show in shows)] if path == "/goals/wide" else [path]
        for each in paths:
            page.goto(each)
            for summary in page.locator("summary").all():
                summary.click()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, each
