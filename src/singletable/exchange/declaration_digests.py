"""Digests of the declarations that a dataset's rows depend on: a manifest has them, and an import compares.

    0123456789abcdef-01234567    names, columns and the texts of keys; then what else decides an item's bytes

Manifests of earlier versions have the first part alone, and are compared by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

from singletable.foundation import Model

_DIGITS: Final = 16
_MORE_DIGITS: Final = 8


def digest_of(name: str, model: Model[Any], columns: Sequence[Any]) -> str:
    """The digest of a class's declaration. It changes with the class."""
    templates = [t for captured in (model.key, *model.indexes.values()) for t in captured.templates]
    shown = [name, model.type, model.version, columns, [t.shown for t in templates]]
    definition = model.table.definition
    forms = [t.form for t in templates]
    names = [definition.index_keys(index) for index in (None, *model.indexes)]
    constants = [(constant.stored, constant.value) for constant in model.constants]
    return f"{_hash(shown)[:_DIGITS]}-{_hash([forms, names, constants])[:_MORE_DIGITS]}"


def is_digest(stored: str, digest: str) -> bool:
    """Whether a manifest's digest is that of a class as it is now."""
    return stored == digest or stored == digest.partition("-")[0]


def _hash(facts: Sequence[Any]) -> str:
    return sha256(msgspec.json.encode(facts)).hexdigest()
