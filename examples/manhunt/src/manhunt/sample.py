"""Three people, a rota of theirs and a policy, to try things out with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from manhunt.model import Contact, Kind, Stage, Target, TargetKind
from manhunt.service import Service

PEOPLE = ("Ada Lovelace", "Grace Hopper", "Edsger Dijkstra")


def load_sample(app: Service, domain_id: str) -> list[Contact]:
    """Three contacts: mail and text at once, a call half a minute later, a webhook after another."""
    contacts = [_contact(app, domain_id, number, name) for number, name in enumerate(PEOPLE, start=1)]
    _policy(app, domain_id, contacts)
    return contacts


def _policy(app: Service, domain_id: str, contacts: Sequence[Contact]) -> None:
    """Whoever's week it is; two minutes later the next in line as well, and then everybody."""
    members = [contact.contact_id for contact in contacts]
    began = app.now().replace(hour=9, minute=0, second=0, microsecond=0) - timedelta(days=7)
    rota = app.create_rota(domain_id, "Harbour lights", members, starts_at=began, turn_seconds=7 * 24 * 3600)
    everybody = [Target(TargetKind.CONTACT, id) for id in members]
    stages = [Stage([Target(TargetKind.ROTA, rota.rota_id)], 120), Stage(everybody[:2], 120), Stage(everybody, 300)]
    app.create_policy(domain_id, "The lights are out", stages, repeats=1)


def _contact(app: Service, domain_id: str, number: int, name: str) -> Contact:
    contact = app.create_contact(domain_id, name)
    first = name.partition(" ")[0].lower()
    methods = (
        (Kind.EMAIL, f"{first}@example.org", 0),
        (Kind.SMS, f"+1555123456{number}", 0),
        (Kind.VOICE, f"+1555123456{number}", 30),
        (Kind.WEBHOOK, f"https://pager.example.org/{first}", 30),
    )
    for order, (kind, destination, wait_seconds) in enumerate(methods):
        app.add_method(domain_id, contact.contact_id, kind, destination, order=order, wait_seconds=wait_seconds)
    return contact
