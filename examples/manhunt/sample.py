"""A small rota, to try things out with."""

from __future__ import annotations

from examples.manhunt.model import Contact, Kind
from examples.manhunt.service import Service

PEOPLE = ("Ada Lovelace", "Grace Hopper", "Edsger Dijkstra")


def load_sample(app: Service, domain_id: str) -> list[Contact]:
    """Three contacts: mail and text at once, a call half a minute later, a webhook after another."""
    return [_contact(app, domain_id, number, name) for number, name in enumerate(PEOPLE, start=1)]


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
