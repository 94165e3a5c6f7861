"""A copy of another entity's attribute, and the write that brings it up to date, conditional on the copy's version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from singletable.errors import ConditionFailed, NotFound
from singletable.expressions import Condition, Update, attr, first_name
from singletable.flow import Port
from singletable.records.conditions import both
from singletable.records.send import update
from singletable.schema import Copy, KeyOf, Model, copied_version, copies_in, model_for, model_of


@dataclass(frozen=True)
class CopyWriter:
    """The copies of one source in one class of holders."""

    holder: type[Any]
    source: type[Any]
    copies: Sequence[Copy]

    @cached_property
    def version(self) -> Any:
        """The attribute of the holder, as it stands for its values in conditions and updates."""
        return copied_version(self.holder, self.source)

    async def update(self, port: Port, key: Any, source: Any, is_another: bool) -> bool:
        """Write the copy. Returns False if it is newer, or right, or its holder is deleted or has another source
        meanwhile."""
        return await self._write(port, key, source, self.condition(source, is_another))

    async def update_read(self, port: Port, holder: Any, source: Any) -> bool:
        """`update` of a holder that was read before its source was, both consistently: see `condition_as_read`."""
        key = model_of(self.holder).key_of(holder)
        return await self._write(port, key, source, self.condition_as_read(holder, source))

    async def _write(self, port: Port, key: Any, source: Any, where: Condition | None) -> bool:
        try:
            await update(port, key, self.updates(source), where=where)
        except (ConditionFailed, NotFound):
            return False
        return True

    def updates(self, source: Any) -> tuple[Update, ...]:
        values = [attr(getattr(self.holder, c.name)).set(getattr(source, c.source_name)) for c in self.copies]
        return (*values, attr(self.version).set(count_of(source)))

    def condition(self, source: Any, is_another: bool) -> Condition | None:
        """The holder names this source still; and the copy is of an older version, or differs from this one."""
        if is_another:
            return self._names(source)
        known, count = attr(self.version), count_of(source)
        condition = ~known.exists() | (known < count)
        for copy in self.copies:
            held = attr(getattr(self.holder, copy.name))
            condition = condition | ((known == count) & (held != getattr(source, copy.source_name)))
        return both(self._names(source), condition)

    def condition_as_read(self, holder: Any, source: Any) -> Condition | None:
        """The same for a holder that was read before its source was, both consistently. No copy is of a later version
        than its source then: such a version is that of another source, which the holder named before."""
        known = self.known_version(holder)
        if known is None or known <= count_of(source):
            return self.condition(source, False)
        return both(self._names(source), attr(self.version) == known)

    def _names(self, source: Any) -> Condition | None:
        """A condition that the holder names this source. None if its key does, which never changes."""
        held: Condition | None = None
        for name in sorted(self.naming):
            held = both(held, attr(getattr(self.holder, name)) == getattr(source, name))
        return held

    @cached_property
    def naming(self) -> frozenset[str]:
        """The attributes of a holder that name its source and may change."""
        return model_of(self.source).identity - model_of(self.holder).identity

    def is_behind(self, holder: Any, source: Any, is_another: bool) -> bool:
        known, count = self.known_version(holder), count_of(source)
        if is_another or known is None or known < count:
            return True
        return known == count and self.differs(holder, source)

    def differs(self, holder: Any, source: Any) -> bool:
        """Whether a copy is not what its source has."""
        return self.values(holder) != [getattr(source, copy.source_name) for copy in self.copies]

    def values(self, holder: Any) -> list[Any]:
        return [getattr(holder, copy.name) for copy in self.copies]

    def known_version(self, holder: Any) -> int | None:
        found: int | None = getattr(holder, first_name(self.version), None)
        return found


@cache
def copies_of(model: Model[Any]) -> tuple[CopyWriter, ...]:
    """The copies of a class whose sources are named by its own attributes, by their source."""
    sources = dict.fromkeys(copy.source for copy in copies_in(model.kind))
    found = [CopyWriter(model.kind, source, copies_in(model.kind, source)) for source in sources]
    return tuple(writer for writer in found if model_of(writer.source).identity <= model.by_name.keys())


def key_from(kind: type[Any], item: Any) -> Any:
    """The key of an entity that an item of another class names: by the attributes that both have."""
    model: Model[Any] = model_of(kind)
    values: Mapping[str, Any] = {name: getattr(item, name) for name in model.identity}
    return model.key.query(KeyOf, (), dict(values))


def count_of(source: Any) -> int:
    """The version of a source: the number of its writes."""
    counter = model_for(source).counter
    assert counter is not None
    return int(getattr(source, counter.name))
