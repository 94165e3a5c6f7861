"""What goes in and out over HTTP. Input forbids what it does not name: nothing of a record is set in passing."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from examples_shared import bodies
from manhunt.base import WEEK_SECONDS
from manhunt.contacts import MAX_NAME, MAX_ORDER
from manhunt.destinations import MAX_CHARACTERS
from manhunt.messages import DEFAULT_MESSAGE, MAX_METADATA, MAX_TEXT
from manhunt.model import (
    Contact,
    ContactDetails,
    ContactMethod,
    Delivery,
    Kind,
    Planned,
    Search,
    SearchAttempt,
    SearchDetails,
    Status,
)
from manhunt.searches import ANSWER_SECONDS, MAX_REASON
from singletable import Page

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Destination = Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS)]
Seconds = Annotated[int, Field(ge=0, le=WEEK_SECONDS)]
Order = Annotated[int, Field(ge=-MAX_ORDER, le=MAX_ORDER)]
Text = Annotated[str, Field(max_length=MAX_TEXT)]
Reason = Annotated[str, Field(max_length=MAX_REASON)]
Moment = AwareDatetime


class Input(bodies.Input):
    model_config = ConfigDict(strict=True)


class ContactIn(Input):
    name: Name


class MethodIn(Input):
    kind: Annotated[Kind, Field(strict=False)]
    destination: Destination
    order: Order = 0
    wait_seconds: Seconds = 0
    enabled: bool = True


class MethodChangeIn(Input):
    """What is left out stays as it is. The kind of a method doesn't change: add another."""

    destination: Destination | None = None
    order: Order | None = None
    wait_seconds: Seconds | None = None
    enabled: bool | None = None


class SearchIn(Input):
    metadata: Annotated[dict[Text, Text], Field(max_length=MAX_METADATA, default_factory=dict[str, str])]
    message: Text = DEFAULT_MESSAGE
    answer_seconds: Seconds = ANSWER_SECONDS
    urgent: bool = True
    """What is not urgent waits for the end of the contact's quiet hours."""


class CancelIn(Input):
    by: Annotated[Reason, Field(min_length=1)]
    reason: Reason = ""


class AnswerIn(Input):
    """Who answers, where it is not the contact, and what they say."""

    by: Reason = ""
    said: Reason = ""


class QuietOut(BaseModel):
    starts: str
    ends: str
    zone: str


class ContactOut(BaseModel):
    contact_id: str
    name: str
    quiet: QuietOut | None

    @classmethod
    def of(cls, contact: Contact) -> ContactOut:
        quiet = QuietOut(**vars(contact.quiet)) if contact.quiet is not None else None
        return cls(contact_id=contact.contact_id, name=contact.name, quiet=quiet)


class MethodOut(BaseModel):
    method_id: str
    kind: Kind
    destination: str
    order: int
    wait_seconds: int
    enabled: bool

    @classmethod
    def of(cls, method: ContactMethod) -> MethodOut:
        return cls(**{name: getattr(method, name) for name in cls.model_fields})


class ContactDetailsOut(ContactOut):
    methods: list[MethodOut]

    @classmethod
    def details(cls, found: ContactDetails) -> ContactDetailsOut:
        methods = sorted(found.methods, key=lambda m: (m.order, m.method_id))
        return cls(**ContactOut.of(found.contact).model_dump(), methods=[MethodOut.of(m) for m in methods])


class ContactsOut(BaseModel):
    contacts: list[ContactOut]
    after: str | None

    @classmethod
    def of(cls, page: Page[Contact]) -> ContactsOut:
        return cls(contacts=[ContactOut.of(c) for c in page.items], after=page.cursor)


class PlannedOut(BaseModel):
    kind: Kind
    destination: str
    wait_seconds: int

    @classmethod
    def of(cls, planned: Planned) -> PlannedOut:
        return cls(**{name: getattr(planned, name) for name in cls.model_fields})


class ResolutionOut(BaseModel):
    by: str
    how: str
    reason: str


class SearchOut(BaseModel):
    search_id: str
    contact_id: str
    status: Status
    started_at: datetime
    ended_at: datetime | None
    resolution: ResolutionOut | None
    metadata: dict[str, str]

    @classmethod
    def of(cls, search: Search) -> SearchOut:
        plain = {name: getattr(search, name) for name in SearchOut.model_fields if name != "resolution"}
        resolution = search.resolution
        return cls(**plain, resolution=ResolutionOut(**vars(resolution)) if resolution is not None else None)


class AttemptOut(BaseModel):
    step: int
    method: PlannedOut
    attempted_at: datetime
    delivery: Delivery
    problem: str
    answered_at: datetime | None
    answer: str

    @classmethod
    def of(cls, attempt: SearchAttempt) -> AttemptOut:
        plain = {name: getattr(attempt, name) for name in cls.model_fields if name != "method"}
        return cls(**plain, method=PlannedOut.of(attempt.method))


class SearchDetailsOut(SearchOut):
    plan: list[PlannedOut]
    attempts: list[AttemptOut]

    @classmethod
    def details(cls, found: SearchDetails) -> SearchDetailsOut:
        return cls(
            **SearchOut.of(found.search).model_dump(),
            plan=[PlannedOut.of(planned) for planned in found.search.plan],
            attempts=[AttemptOut.of(attempt) for attempt in found.attempts],
        )


class SearchesOut(BaseModel):
    searches: list[SearchOut]
    after: str | None

    @classmethod
    def of(cls, page: Page[Search]) -> SearchesOut:
        return cls(searches=[SearchOut.of(s) for s in page.items], after=page.cursor)


class AnsweredOut(BaseModel):
    """All that whoever answers is told."""

    status: Status
    by: str
