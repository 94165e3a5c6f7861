"""Every query and action of the application; each part says what its own guarantee and cost.

A domain is a tenant: what it doesn't own is to it what nobody has. Requests are those of a call that succeeds without
meeting another writer; units are DynamoDB's, for items of up to 1 KB written and 4 KB read (W: write units, R: read).
"""

from __future__ import annotations

from dataclasses import dataclass

from manhunt.answers import Answers
from manhunt.contacts import Contacts
from manhunt.erasure import Erasures
from manhunt.queries import Queries
from manhunt.rotas import Rotas
from manhunt.searches import Searches


@dataclass(frozen=True)
class Service(Queries, Contacts, Searches, Answers, Rotas, Erasures):
    """All of them over one database."""
