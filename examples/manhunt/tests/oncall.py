"""What the tests of incidents share: contacts, rotas and policies in a line each."""

from __future__ import annotations

from datetime import timedelta

from examples.manhunt.tests.support import DOMAIN, World, contact_with
from manhunt.model import Contact, Incident, Kind, Policy, Rota, Search, Stage, Status, Target, TargetKind

HOUR, DAY = 3600, 24 * 3600


def person(world: World, name: str, *methods: tuple[Kind, int]) -> Contact:
    """Reached by mail, where nothing else is said."""
    return contact_with(world.app, *(methods or ((Kind.EMAIL, 0),)), name=name)


def at(contact: Contact) -> Target:
    return Target(TargetKind.CONTACT, contact.contact_id)


def on(rota: Rota) -> Target:
    return Target(TargetKind.ROTA, rota.rota_id)


def rota_of(world: World, *members: Contact, turn_seconds: int = DAY, name: str = "nights") -> Rota:
    """The first has the turn that began a minute ago."""
    ids = [member.contact_id for member in members]
    began = world.app.now() - timedelta(seconds=60)
    return world.app.create_rota(DOMAIN, name, ids, starts_at=began, turn_seconds=turn_seconds)


def policy_of(world: World, *stages: tuple[list[Target], int], repeats: int = 0) -> Policy:
    made = [Stage(targets, wait_seconds) for targets, wait_seconds in stages]
    return world.app.create_policy(DOMAIN, "harbour lights", made, repeats=repeats)


def alarm(world: World, policy: Policy, key: str = "") -> Incident:
    return world.app.open_incident(DOMAIN, policy.policy_id, "the lighthouse is dark", alarm_key=key).incident


def incident_now(world: World, incident: Incident) -> Incident:
    return world.app.incident_with_all(DOMAIN, incident.incident_id).incident


def searches_of(world: World, incident: Incident) -> list[Search]:
    return world.app.searches_of_incident(world.app.incident_with_all(DOMAIN, incident.incident_id))


def hunted(world: World, incident: Incident) -> list[str]:
    """The names of those who are looked for now."""
    return sorted(search.contact_name for search in searches_of(world, incident) if search.status is Status.ACTIVE)


def story(world: World, incident: Incident) -> list[str]:
    return [reaction.kind.value for reaction in world.app.incident_with_all(DOMAIN, incident.incident_id).reactions]


def names_of_messages(world: World) -> list[str]:
    return [message.name for message in world.outbox.sent]
