"""What follows from changes: an organisation's name goes to all who are in it, however many they are."""

from __future__ import annotations

from examples.organisations.model import OrganisationMember, UserOrganisation, organisations
from singletable.streams import Changes

changes = Changes(organisations, name="copies")
changes.keep_copies(OrganisationMember.of_organisation, to=UserOrganisation)
