"""Views: what one user sees of a document.

    def view(user: str, project: str) -> View | None:
        if user in EDITORS[project]:
            return None  # everything
        return View("guest", [Shown(Project.shapes, lambda shape: not shape.is_draft), Shown(Project.comments)])

A pull sends what the view shows and nothing else, neither a content nor an id. An item that leaves the view is removed
on the client, one that enters it is put. The cookie names the view, so that a client whose view has changed is sent
everything again. A mutation works on its user's view: a hidden item is missing for it, and can't be overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from singletable.documents import Document, Items, Ref
from singletable.documents.inspect import DocumentModel, document_model
from singletable.errors import DeclarationError, InvalidRequest
from singletable.events import AnswerRefused, Listeners

T = TypeVar("T")
Predicate = Callable[[Any], bool]
MOST_NAME_CHARACTERS = 500


@dataclass(frozen=True)
class Shown(Generic[T]):
    """A collection that is shown: all of its items, or those for whose content `where` returns True.

    `where` depends on nothing but the content, and may run in several threads. An item at which it raises is hidden.
    """

    collection: Items[T]
    where: Callable[[T], bool] | None = None


@dataclass(frozen=True)
class View:
    """The visible part of a document: its scalars, and the listed collections.

    Two views of one name show the same. So the name contains everything but the content that the predicates depend on,
    as the user for items of their own, and it changes when the predicates do. Clients get to know it.
    """

    name: str
    shown: Sequence[Shown[Any]]

    def __post_init__(self) -> None:
        if not 0 < len(self.name) <= MOST_NAME_CHARACTERS:
            raise DeclarationError(f"the name of a view has 1 to {MOST_NAME_CHARACTERS} characters")


@dataclass(frozen=True)
class Sight:
    """A view of the collections of one document class. Without a view everything is shown."""

    view: View | None
    where: Mapping[str, Predicate | None]
    """The predicate that selects the items of each shown collection; None shows all of them."""
    events: Listeners

    @classmethod
    def of(cls, model: DocumentModel, view: View | None, events: Listeners) -> Sight:
        """Build the sight of a view. Raises DeclarationError if the view lists an unknown collection."""
        if view is None:
            return cls(None, dict.fromkeys(model.collections), events)
        return cls(view, {_name_of(model, shown.collection): shown.where for shown in view.shown}, events)

    @property
    def name(self) -> str:
        """The name of the view in cookies; empty where everything is shown."""
        return "" if self.view is None else self.view.name

    def shows(self, collection: str, item: Any) -> bool:
        where = self.where.get(collection, _nothing)
        if where is None:
            return True
        try:
            return bool(where(item))
        except Exception as error:
            self.events.emit(AnswerRefused(function="a view's predicate", then="the item is hidden", error=error))
            return False


def _name_of(model: DocumentModel, collection: object) -> str:
    for name, each in model.collections.items():
        if each is collection:
            return name
    raise DeclarationError(
        f"a view of {model.kind.__name__} shows {collection!r}, which is not one of its collections",
        hint="Name it on the class, as in Shown(Project.shapes).",
    )


def _nothing(item: Any) -> bool:
    return False


def restrict_draft(draft: Document, view: View | None) -> None:
    """Hide from the rest of a mutation what the view does not show. `Sync` and `Worker` do it by themselves.

    For `Documents(..., authorise=)`, where others than they apply the mutations, too. The library's own mutations are
    left alone: who may restore and merge is decided by who calls that.
    """
    values: dict[str, Any] = draft.__dict__
    if view is None or values["mutation"].mutation.name.startswith("$"):
        return
    model = document_model(draft.__class__)
    sight = Sight.of(model, view, values["_events"])
    for name in model.collections:
        if sight.where.get(name, _nothing) is not None:
            values[name] = _ShownItems(values[name], name, sight)


class _ShownItems(Items[T]):
    """The items of a draft that a view shows, and the ones that the mutation itself has put."""

    def __init__(self, items: Items[T], name: str, sight: Sight) -> None:
        self._items, self._name, self._sight = items, name, sight
        self._own: set[str] = set()

    def __repr__(self) -> str:
        return f"<what is shown of {self._items!r}>"

    def _is_hidden(self, id: str) -> bool:
        return id in self._items and id not in self._own and not self._sight.shows(self._name, self._items[id])

    def _check(self, id: str) -> None:
        if id not in self:
            raise KeyError(id)

    def _check_free(self, id: str) -> None:
        if self._is_hidden(id):
            raise InvalidRequest("the user may not see this item", operation="mutation", attribute=self._name)
        self._own.add(id)

    def __getitem__(self, id: str) -> T:
        self._check(id)
        return self._items[id]

    def __setitem__(self, id: str, value: T) -> None:
        self._check_free(id)
        self._items[id] = value

    def __delitem__(self, id: str) -> None:
        self._check(id)
        del self._items[id]

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and id in self._items and not self._is_hidden(id)

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    def all(self) -> dict[str, T]:
        found = self._items.all()
        return {id: item for id, item in found.items() if id in self._own or self._sight.shows(self._name, item)}

    def hash_of(self, id: str) -> str:
        self._check(id)
        return self._items.hash_of(id)

    def refer(self, id: str, content: Ref[T]) -> None:
        self._check_free(id)
        self._items.refer(id, content)
