"""The HTTP API of rotas, policies and incidents. What is posted by programs that see something wrong: `/api/alarms`."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response

from examples_shared.bodies import ApiRoute
from manhunt.model import IncidentStatus
from manhunt.queries import Window
from manhunt.schemas import ContactOut, Moment
from manhunt.schemas_incidents import (
    AlarmIn,
    CalendarOut,
    DoneIn,
    IncidentDetailsOut,
    IncidentOut,
    IncidentsOut,
    OnCallOut,
    OverrideIn,
    OverrideOut,
    PoliciesOut,
    PolicyIn,
    PolicyOut,
    QuietIn,
    ReassignIn,
    ResourceIn,
    ResourceOut,
    RotaChangeIn,
    RotaIn,
    RotaOut,
    RotasOut,
    SnoozeIn,
)
from manhunt.web import App, Domain

Limit = Annotated[int, Query(ge=1, le=100)]
CALENDAR = timedelta(days=28)
routes = APIRouter(prefix="/api", route_class=ApiRoute)


@routes.put("/contacts/{contact_id}/quiet-hours")
def set_quiet_hours(app: App, domain: Domain, contact_id: str, given: QuietIn) -> ContactOut:
    """What is not urgent waits for their end."""
    return ContactOut.of(app.set_quiet_hours(domain, contact_id, given.value()))


@routes.delete("/contacts/{contact_id}/quiet-hours", status_code=204)
def delete_quiet_hours(app: App, domain: Domain, contact_id: str) -> None:
    app.set_quiet_hours(domain, contact_id, None)


# --- rotas ------------------------------------------------------------------------------------------------------------
@routes.get("/rotas")
def rotas_of_domain(app: App, domain: Domain, limit: Limit = 25, after: str | None = None) -> RotasOut:
    return RotasOut.of(app.rotas_of_domain(domain, limit=limit, after=after))


@routes.post("/rotas", status_code=201)
def create_rota(app: App, domain: Domain, given: RotaIn) -> RotaOut:
    said = {name: getattr(given, name) for name in ("starts_at", "turn_seconds", "zone")}
    return RotaOut.of(app.create_rota(domain, given.name, given.members, **said))


@routes.get("/rotas/{rota_id}")
def rota_by_id(app: App, domain: Domain, rota_id: str) -> RotaOut:
    return RotaOut.of(app.rota_by_id(domain, rota_id))


@routes.patch("/rotas/{rota_id}")
def change_rota(app: App, domain: Domain, rota_id: str, given: RotaChangeIn) -> RotaOut:
    """Searches that are open go on for whom they were opened."""
    return RotaOut.of(app.change_rota(domain, rota_id, **given.model_dump()))


@routes.delete("/rotas/{rota_id}", status_code=204)
def delete_rota(app: App, domain: Domain, rota_id: str) -> None:
    app.delete_rota(domain, rota_id)


@routes.get("/rotas/{rota_id}/calendar")
def calendar(
    app: App, domain: Domain, rota_id: str, since: Moment | None = None, until: Moment | None = None
) -> CalendarOut:
    """Who is on call when, overrides included; four weeks from now, if nothing is said."""
    start = since or app.now()
    turns = app.calendar(domain, rota_id, start, until or start + CALENDAR)
    return CalendarOut(on_call=[OnCallOut.of(turn) for turn in turns])


@routes.post("/rotas/{rota_id}/overrides", status_code=201)
def add_override(app: App, domain: Domain, rota_id: str, given: OverrideIn) -> OverrideOut:
    return OverrideOut.of(app.add_override(domain, rota_id, given.contact_id, given.starts_at, given.ends_at))


@routes.delete("/rotas/{rota_id}/overrides/{override_id}", status_code=204)
def delete_override(app: App, domain: Domain, rota_id: str, override_id: str) -> None:
    app.delete_override(domain, rota_id, override_id)


# --- policies ---------------------------------------------------------------------------------------------------------
@routes.get("/policies")
def policies_of_domain(app: App, domain: Domain, limit: Limit = 25, after: str | None = None) -> PoliciesOut:
    return PoliciesOut.of(app.policies_of_domain(domain, limit=limit, after=after))


@routes.post("/policies", status_code=201)
def create_policy(app: App, domain: Domain, given: PolicyIn) -> PolicyOut:
    stages, links = [stage.value() for stage in given.stages], [link.value() for link in given.links]
    return PolicyOut.of(app.create_policy(domain, given.name, stages, repeats=given.repeats, links=links))


@routes.get("/policies/{policy_id}")
def policy_by_id(app: App, domain: Domain, policy_id: str) -> PolicyOut:
    return PolicyOut.of(app.policy_by_id(domain, policy_id))


@routes.put("/policies/{policy_id}")
def replace_policy(app: App, domain: Domain, policy_id: str, given: PolicyIn) -> PolicyOut:
    """Incidents that are open keep their copy."""
    stages, links = [stage.value() for stage in given.stages], [link.value() for link in given.links]
    return PolicyOut.of(app.replace_policy(domain, policy_id, given.name, stages, repeats=given.repeats, links=links))


@routes.delete("/policies/{policy_id}", status_code=204)
def delete_policy(app: App, domain: Domain, policy_id: str) -> None:
    app.delete_policy(domain, policy_id)


# --- incidents --------------------------------------------------------------------------------------------------------
@routes.post("/alarms", status_code=201)
def open_incident(app: App, domain: Domain, given: AlarmIn, answer: Response) -> IncidentOut:
    """201 with a new incident; 200 with the one that the alarms of this key belong to, which hunts nobody twice."""
    opened = app.open_incident(domain, given.policy_id, given.summary, alarm_key=given.alarm_key, urgent=given.urgent)
    if not opened.is_new:
        answer.status_code = 200
    return IncidentOut.of(opened.incident)


@routes.get("/incidents")
def incidents_of_domain(
    app: App,
    domain: Domain,
    status: IncidentStatus | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    limit: Limit = 25,
    after: str | None = None,
) -> IncidentsOut:
    """The newest first: all or of a status, opened after `since` and before `until`."""
    window = Window(since, until)
    return IncidentsOut.of(app.incidents_of_domain(domain, status=status, window=window, limit=limit, after=after))


@routes.get("/incidents/{incident_id}")
def incident_with_all(app: App, domain: Domain, incident_id: str) -> IncidentDetailsOut:
    """With its searches, people, resources and reactions."""
    found = app.incident_with_all(domain, incident_id)
    return IncidentDetailsOut.details(found, app.searches_of_incident(found))


@routes.post("/incidents/{incident_id}/acknowledge")
def acknowledge(app: App, domain: Domain, incident_id: str, given: DoneIn) -> IncidentOut:
    return IncidentOut.of(app.acknowledge(domain, incident_id, by=given.by, said=given.said))


@routes.post("/incidents/{incident_id}/snooze")
def snooze(app: App, domain: Domain, incident_id: str, given: SnoozeIn) -> IncidentOut:
    return IncidentOut.of(app.snooze(domain, incident_id, by=given.by, seconds=given.seconds, said=given.said))


@routes.post("/incidents/{incident_id}/reassign")
def reassign(app: App, domain: Domain, incident_id: str, given: ReassignIn) -> IncidentOut:
    """To contacts or rotas; where nobody of them answers, the stages of the policy follow."""
    return IncidentOut.of(
        app.reassign(
            domain,
            incident_id,
            [target.value() for target in given.targets],
            by=given.by,
            said=given.said,
            wait_seconds=given.wait_seconds,
        )
    )


@routes.post("/incidents/{incident_id}/resolve")
def resolve(app: App, domain: Domain, incident_id: str, given: DoneIn) -> IncidentOut:
    return IncidentOut.of(app.resolve(domain, incident_id, by=given.by, said=given.said))


@routes.post("/incidents/{incident_id}/resources", status_code=201)
def add_resource(app: App, domain: Domain, incident_id: str, given: ResourceIn) -> ResourceOut:
    made = app.add_resource(domain, incident_id, given.title, given.url)
    return ResourceOut(resource_id=made.resource_id, title=made.title, url=made.url)
