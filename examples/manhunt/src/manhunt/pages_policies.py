"""The pages of escalation policies."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from examples_shared.as_read import check_as_read
from examples_shared.cost import metered
from examples_shared.errors import in_field
from examples_shared.forms import Fields, Form
from examples_shared.refused_forms import form_on
from manhunt.choosing import CONTACT, ROTA, choices, more_chosen, more_fields, names_of
from manhunt.input_formats import length, link, seconds_of, target, target_text
from manhunt.model import Policy, Stage
from manhunt.pages_contacts import number
from manhunt.pages_rotas import seconds_in
from manhunt.policies import MAX_STAGES
from manhunt.rendering import path_to, render
from manhunt.service import Service
from manhunt.web import App, PageDomain

Limit = Annotated[int, Query(ge=1, le=100)]
MORE_STAGES = 2
"""Empty stages that a form offers besides those that are there."""
USUAL_WAIT = "5m"
routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


@routes.get("/policies")
def policies(app: App, domain: PageDomain, limit: Limit = 25, after: str | None = None) -> Response:
    found, took = metered(app.db, lambda: app.policies_of_domain(domain, limit=limit, after=after))
    return render("policies.html", found=found, took=took, after=after)


@routes.get("/policies/new")
def new_policy(app: App, domain: PageDomain) -> Response:
    found, took = metered(app.db, lambda: choices(app, domain, ROTA, CONTACT))
    return _page(None, [[] for _ in range(3)], choices=found, took=took)


@routes.get("/policies/{policy_id}")
def policy(app: App, domain: PageDomain, policy_id: str) -> Response:
    """Each stage with those that it looks for, ticked."""

    def ask() -> Any:
        found = app.policy_by_id(domain, policy_id)
        texts = [[target_text(each) for each in stage.targets] for stage in found.stages]
        names = _names(app, [text for of_stage in texts for text in of_stage])
        return (
            found,
            [[(text, names[text]) for text in of_stage] for of_stage in texts],
            choices(app, domain, ROTA, CONTACT),
        )

    (found, stages, offered), took = metered(app.db, ask)
    empty: list[list[tuple[str, str]]] = [[] for _ in range(min(MORE_STAGES, MAX_STAGES - len(stages)))]
    return _page(found, [*stages, *empty], choices=offered, took=took)


def _page(found: Policy | None, stages: list[list[tuple[str, str]]], **values: Any) -> Response:
    shown = shown_in(found) if found is not None else {}
    more = [more_fields(f"add-{place}") for place in range(len(stages))]
    return render("policy.html", policy=found, shown=shown, stages=stages, more=more, usual=USUAL_WAIT, **values)


@routes.post("/policies", dependencies=form_on("/policies/new"))
def create_policy(app: App, domain: PageDomain, form: Form) -> Response:
    stages = _stages(app, domain, form)
    made = app.create_policy(domain, form.text("name"), stages, repeats=number(form, "repeats"), links=_links(form))
    return RedirectResponse(path_to("policies", made.policy_id), 303)


@routes.post("/policies/{policy_id}", dependencies=form_on("/policies/{policy_id}"))
def change_policy(app: App, domain: PageDomain, form: Form, policy_id: str) -> Response:
    """What somebody typed; what they left stays as it is."""
    app.change_policy(domain, policy_id, lambda policy: _changes(app, domain, form, policy))
    return RedirectResponse(path_to("policies", policy_id), 303)


@routes.post("/policies/{policy_id}/delete", dependencies=form_on("/policies/{policy_id}"))
def delete_policy(app: App, domain: PageDomain, policy_id: str) -> Response:
    app.delete_policy(domain, policy_id)
    return RedirectResponse("/policies", 303)


def shown_in(policy: Policy) -> dict[str, str]:
    """The form's fields."""
    links = "\n".join(f"{each.title}={each.url}" for each in policy.links)
    fields = {"name": policy.name, "repeats": str(policy.repeats), "links": links}
    for place, stage in enumerate(policy.stages):
        fields |= {
            f"stage-{place}": "\n".join(map(target_text, stage.targets)),
            f"wait-{place}": length(stage.wait_seconds),
        }
    return fields


def _changes(app: Service, domain: str, form: Fields, policy: Policy) -> dict[str, Any]:
    """What a form makes of a policy. Changed where it is not as the form was made of."""
    check_as_read(form, shown_in(policy), lambda text: _words(app, text))
    said = dict[str, Any]()
    if form.changed("name"):
        said["name"] = form.text("name")
    if form.changed("repeats"):
        said["repeats"] = number(form, "repeats")
    if form.changed("links"):
        said["links"] = _links(form)
    if form.changed(*(name for place in range(MAX_STAGES) for name in _fields(place))):
        said["stages"] = _stages(app, domain, form)
    return said


def _fields(place: int) -> list[str]:
    return [f"stage-{place}", f"wait-{place}", *more_fields(f"add-{place}")]


def _stages(app: Service, domain: str, form: Fields) -> list[Stage]:
    """The stages of a form in which somebody is chosen."""
    stages: list[Stage] = []
    for place in range(MAX_STAGES):
        with in_field(f"stage-{place}"):
            ticked = [target(text) for text in form.all(f"stage-{place}")]
        added = more_chosen(app, domain, form, more_fields(f"add-{place}"), ROTA, CONTACT)
        wait = seconds_in(form, f"wait-{place}") if form.text(f"wait-{place}") else seconds_of(USUAL_WAIT)
        if ticked or added:
            stages.append(Stage(list(dict.fromkeys([*ticked, *added])), wait))
    return stages


def _links(form: Fields) -> list[Any]:
    with in_field("links"):
        return [link(line) for line in form.text("links").splitlines() if line.strip()]


def _names(app: Service, texts: list[str]) -> dict[str, str]:
    """The names of targets. A batch for each kind."""
    found: dict[str, str] = {}
    for kind, gone in ((CONTACT, "somebody who was deleted"), (ROTA, "a rota that was deleted")):
        ids = [text.removeprefix(f"{kind}:") for text in texts if text.startswith(f"{kind}:")]
        names = names_of(app, kind, ids)
        found |= {f"{kind}:{id}": names.get(id, gone) for id in ids}
    return found


def _words(app: Service, text: str) -> str:
    """A field's name or text for people."""
    field, _, place = text.rpartition("-")
    if field in ("stage", "wait") and place.isdecimal():
        return f"{'' if field == 'stage' else 'the wait of '}stage {int(place) + 1}"
    lines = text.split("\n")
    names = _names(app, lines)
    return ", ".join(names.get(line, line) for line in lines)
