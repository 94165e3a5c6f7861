"""The profile of the older version of the program."""

from __future__ import annotations

from singletable import Entity, Key
from tests.storm.models import storm


class Profile(Entity, table=storm, type="profile"):
    id: str
    name: str = ""
    visits: int = 0

    @storm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"profile#{id}", "profile"
