"""The one place that makes the addresses of pages. All of them can be shared: none holds a token.

A key with a personal value in it is sealed while such values are covered: the address hides it, and works for
a day, in the studio that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from singletable.errors import InvalidCursor, InvalidRequest
from singletable.foundation import MAX_PARTITION_BYTES, MAX_SORT_BYTES
from singletable.records import CursorSeal

Place = tuple[str, str]
"""The two texts of an item's key."""
_SLASH = "\N{DIVISION SLASH}"
PERSONAL, SHOWN = "personal", "shown"
_SEALED, _PARTITION, _SORT = "k", "pk", "sk"


def segment(name: str) -> str:
    """A name as one part of a path: a slash in it would begin another. Pages compare names in this form."""
    return name.replace("/", _SLASH)


@dataclass(frozen=True, eq=False)
class Addresses:
    """Addresses below the studio's mount point. `personal` goes with each link, once it was asked for."""

    root: str
    seal: CursorSeal
    now: Callable[[], float]
    personal: bool = False

    def of(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """Any page: `links.of("/graph/shop", {"node": "TEAM-t1"})`. Empty values are left out."""
        given = {name: value for name, value in (query or {}).items() if value}
        if self.personal:
            given |= {PERSONAL: SHOWN}
        return f"{self.root}{quote(path)}{'?' if given else ''}{urlencode(given)}"

    def home(self) -> str:
        return self.of("/")

    def static(self, name: str) -> str:
        return f"{self.root}/static/{quote(name)}"

    def patterns(self, table: str = "") -> str:
        return self.of("/patterns") + (f"#{quote(table)}" if table else "")

    def pattern(self, table: str, entity: str, name: str, arguments: Mapping[str, str] | None = None) -> str:
        """The form of a pattern; with arguments, what it finds for them."""
        return self.of(f"/patterns/{table}/{segment(entity)}/{segment(name)}", arguments)

    def partition(self, table: str, partition: str, *, index: str = "", after: str = "", hidden: bool = False) -> str:
        """The items of one partition, of the table or of an index. `hidden`: its key has a covered value."""
        given = {"index": index, "after": after, **self._key(table, (partition, ""), hidden)}
        return self.of(f"/partition/{table}", given)

    def item(self, table: str, place: Place, *, hidden: bool = False) -> str:
        return self.of(f"/item/{table}", self._key(table, place, hidden))

    def node(self, table: str, node: str) -> str:
        return self.of(f"/graph/{table}", {"node": node})

    def document(self, table: str, kind: str, document_id: str) -> str:
        return self.of(f"/documents/{table}/{segment(kind)}", {"id": document_id})

    def entity(self, table: str, name: str) -> str:
        """The page of a class."""
        return self.of(f"/model/{table}/{segment(name)}")

    def with_personal(self, address: str, shown: bool) -> str:
        """The same page with personal values shown, or covered."""
        parts = urlsplit(address)
        pairs = [pair for pair in parts.query.split("&") if pair and pair != f"{PERSONAL}={SHOWN}"]
        return urlunsplit(parts._replace(query="&".join([*pairs, *([f"{PERSONAL}={SHOWN}"] if shown else [])])))

    def twin(self, address: str) -> str:
        """The same page as JSON."""
        parts = urlsplit(address)
        return urlunsplit(parts._replace(path=f"{parts.path}.json"))

    def covered(self) -> Addresses:
        return replace(self, personal=False)

    def key_in(self, table: str, query: Mapping[str, str]) -> Place:
        """The key that an address names; InvalidRequest if it names none."""
        if (sealed := query.get(_SEALED)) is not None:
            try:
                position = self.seal.open(sealed, _binding(table), self.now())
            except InvalidCursor:
                raise InvalidRequest(
                    "this address of an item has expired, or was made by another studio",
                    hint="Find the item again by one of its patterns.",
                ) from None
            return position[_PARTITION]["S"], position[_SORT]["S"]
        if not query.get(_PARTITION):
            raise InvalidRequest("the address names no key", hint="As in ?pk=user%23ada&sk=user.")
        place = query[_PARTITION], query.get(_SORT, "")
        for text, most in zip(place, (MAX_PARTITION_BYTES, MAX_SORT_BYTES), strict=True):
            if len(text.encode("utf-8", "surrogatepass")) > most:
                raise InvalidRequest(f"the address names a key of more than the {most:,} bytes that DynamoDB takes")
        return place

    def _key(self, table: str, place: Place, hidden: bool) -> dict[str, str]:
        if not hidden:
            return {_PARTITION: place[0], _SORT: place[1]}
        position = {_PARTITION: {"S": place[0]}, _SORT: {"S": place[1]}}
        return {_SEALED: self.seal.seal(position, _binding(table), self.now())}


def _binding(table: str) -> tuple[str, str]:
    return ("studio", table)
