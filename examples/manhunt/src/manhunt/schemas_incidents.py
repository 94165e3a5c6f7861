"""What goes in and out over HTTP of rotas, policies and incidents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from manhunt.destinations import MAX_CHARACTERS
from manhunt.incidents import ASSIGNED_SECONDS, MAX_KEY, MAX_SUMMARY
from manhunt.model import (
    Incident,
    IncidentDetails,
    IncidentStatus,
    Link,
    Override,
    Policy,
    QuietHours,
    ReactionKind,
    Rota,
    Search,
    Stage,
    Status,
    Target,
    TargetKind,
)
from manhunt.policies import MAX_LINKS, MAX_REPEATS, MAX_STAGES, MAX_TARGETS
from manhunt.rotas import MAX_MEMBERS, MAX_TURN_SECONDS, MIN_TURN_SECONDS
from manhunt.schemas import Input, Moment, Name, Reason, Seconds
from manhunt.zones import OnCall
from singletable import Page

Id = Annotated[str, Field(min_length=1, max_length=200)]
Zone = Annotated[str, Field(max_length=100)]
Url = Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS)]
TurnSeconds = Annotated[int, Field(ge=MIN_TURN_SECONDS, le=MAX_TURN_SECONDS)]
Members = Annotated[list[Id], Field(min_length=1, max_length=MAX_MEMBERS)]
WaitSeconds = Annotated[Seconds, Field(ge=1)]
Somebody = Annotated[Reason, Field(min_length=1)]


class QuietIn(Input):
    starts: str
    ends: str
    zone: Zone = "UTC"

    def value(self) -> QuietHours:
        return QuietHours(**self.model_dump())


# --- rotas ------------------------------------------------------------------------------------------------------------
class RotaIn(Input):
    name: Name
    members: Members
    starts_at: Annotated[Moment, Field(strict=False)]
    turn_seconds: TurnSeconds
    zone: Zone = "UTC"


class RotaChangeIn(Input):
    """What is left out stays as it is."""

    name: Name | None = None
    members: Members | None = None
    starts_at: Annotated[Moment | None, Field(strict=False)] = None
    turn_seconds: TurnSeconds | None = None
    zone: Zone | None = None


class OverrideIn(Input):
    contact_id: Id
    starts_at: Annotated[Moment, Field(strict=False)]
    ends_at: Annotated[Moment, Field(strict=False)]


class OverrideOut(BaseModel):
    override_id: str
    contact_id: str
    starts_at: datetime
    ends_at: datetime

    @classmethod
    def of(cls, override: Override) -> OverrideOut:
        return cls(**vars(override))


class RotaOut(BaseModel):
    rota_id: str
    name: str
    members: list[str]
    starts_at: datetime
    turn_seconds: int
    zone: str
    overrides: list[OverrideOut]

    @classmethod
    def of(cls, rota: Rota) -> RotaOut:
        plain = {name: getattr(rota, name) for name in cls.model_fields if name != "overrides"}
        return cls(**plain, overrides=[OverrideOut.of(each) for each in rota.overrides])


class RotasOut(BaseModel):
    rotas: list[RotaOut]
    after: str | None

    @classmethod
    def of(cls, page: Page[Rota]) -> RotasOut:
        return cls(rotas=[RotaOut.of(each) for each in page.items], after=page.cursor)


class OnCallOut(BaseModel):
    contact_id: str
    starts_at: datetime
    ends_at: datetime
    override_id: str | None

    @classmethod
    def of(cls, turn: OnCall) -> OnCallOut:
        return cls(**vars(turn))


class CalendarOut(BaseModel):
    on_call: list[OnCallOut]


# --- policies ---------------------------------------------------------------------------------------------------------
class TargetForm(Input):
    kind: Annotated[TargetKind, Field(strict=False)]
    id: Id

    def value(self) -> Target:
        return Target(self.kind, self.id)


class StageForm(Input):
    targets: Annotated[list[TargetForm], Field(min_length=1, max_length=MAX_TARGETS)]
    wait_seconds: WaitSeconds

    def value(self) -> Stage:
        return Stage([target.value() for target in self.targets], self.wait_seconds)

    @classmethod
    def of(cls, stage: Stage) -> StageForm:
        targets = [TargetForm(kind=target.kind, id=target.id) for target in stage.targets]
        return cls(targets=targets, wait_seconds=stage.wait_seconds)


class LinkForm(Input):
    title: Name
    url: Url

    def value(self) -> Link:
        return Link(self.title, self.url)


class PolicyIn(Input):
    name: Name
    stages: Annotated[list[StageForm], Field(min_length=1, max_length=MAX_STAGES)]
    repeats: Annotated[int, Field(ge=0, le=MAX_REPEATS)] = 0
    links: Annotated[list[LinkForm], Field(max_length=MAX_LINKS, default_factory=list[LinkForm])]


class PolicyOut(BaseModel):
    policy_id: str
    name: str
    stages: list[StageForm]
    repeats: int
    links: list[LinkForm]

    @classmethod
    def of(cls, policy: Policy) -> PolicyOut:
        return cls(
            policy_id=policy.policy_id,
            name=policy.name,
            stages=[StageForm.of(stage) for stage in policy.stages],
            repeats=policy.repeats,
            links=[LinkForm(title=link.title, url=link.url) for link in policy.links],
        )


class PoliciesOut(BaseModel):
    policies: list[PolicyOut]
    after: str | None

    @classmethod
    def of(cls, page: Page[Policy]) -> PoliciesOut:
        return cls(policies=[PolicyOut.of(each) for each in page.items], after=page.cursor)


# --- incidents --------------------------------------------------------------------------------------------------------
class AlarmIn(Input):
    policy_id: Id
    summary: Annotated[str, Field(min_length=1, max_length=MAX_SUMMARY)]
    alarm_key: Annotated[str, Field(max_length=MAX_KEY)] = ""
    urgent: bool = True


class DoneIn(Input):
    """Who does it, and what they say."""

    by: Somebody
    said: Reason = ""


class SnoozeIn(DoneIn):
    seconds: WaitSeconds


class ReassignIn(DoneIn):
    targets: Annotated[list[TargetForm], Field(min_length=1, max_length=MAX_TARGETS)]
    wait_seconds: WaitSeconds = ASSIGNED_SECONDS


class ResourceIn(Input):
    title: Name
    url: Url


class IncidentOut(BaseModel):
    incident_id: str
    policy_id: str
    policy_name: str
    summary: str
    alarm_key: str
    alarms: int
    is_urgent: bool
    status: IncidentStatus
    opened_at: datetime
    stage: int
    escalates_at: datetime | None
    snoozed_until: datetime | None
    held_by: str
    ended_at: datetime | None

    @classmethod
    def of(cls, incident: Incident) -> IncidentOut:
        return cls(**{name: getattr(incident, name) for name in IncidentOut.model_fields})


class IncidentsOut(BaseModel):
    incidents: list[IncidentOut]
    after: str | None

    @classmethod
    def of(cls, page: Page[Incident]) -> IncidentsOut:
        return cls(incidents=[IncidentOut.of(each) for each in page.items], after=page.cursor)


class IncidentSearchOut(BaseModel):
    search_id: str
    contact_id: str
    contact_name: str
    stage: int
    status: Status
    rota_id: str | None
    override_id: str | None


class PersonOut(BaseModel):
    name: str
    did: str
    since: datetime


class ResourceOut(BaseModel):
    resource_id: str
    title: str
    url: str


class ReactionOut(BaseModel):
    number: int
    at: datetime
    kind: ReactionKind
    by: str
    said: str


class IncidentDetailsOut(IncidentOut):
    searches: list[IncidentSearchOut]
    people: list[PersonOut]
    resources: list[ResourceOut]
    reactions: list[ReactionOut]

    @classmethod
    def details(cls, found: IncidentDetails, searches: list[Search]) -> IncidentDetailsOut:
        links = {link.search_id: link for link in found.searches}
        return cls(
            **IncidentOut.of(found.incident).model_dump(),
            searches=[
                IncidentSearchOut(**_plain(IncidentSearchOut, links[search.search_id], "status"), status=search.status)
                for search in searches
            ],
            people=[PersonOut(**_plain(PersonOut, each)) for each in found.people],
            resources=[ResourceOut(**_plain(ResourceOut, each)) for each in found.resources],
            reactions=[ReactionOut(**_plain(ReactionOut, each)) for each in found.reactions],
        )


def _plain(kind: type[BaseModel], source: object, *but: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in kind.model_fields if name not in but}
