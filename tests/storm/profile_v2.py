"""The profile of the newer version of the program: the name is two names."""

from __future__ import annotations

from typing import Any

from singletable import Entity, Key
from tests.storm.models import storm


class Profile(Entity, table=storm, type="profile", version=2):
    id: str
    first: str = ""
    last: str = ""
    visits: int = 0

    @storm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"profile#{id}", "profile"


@Profile.upcast(1)
def two_names(item: dict[str, Any]) -> dict[str, Any]:
    first, _, last = item.pop("name", "").partition(" ")
    return {**item, "first": first, "last": last}
