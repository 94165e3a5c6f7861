"""docs/reference/stored-items.md, from the classes themselves: `python -m tests.docs.stored_items` writes it anew.

Where a form differs from the page's under the same version, it writes nothing, unless all that differs is an attribute
more that may be absent: programs before it read and keep such an item.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.foundation import Model
from singletable.migrations.model_document import EntityForm, form_of
from tests.docs.pages import DOCS
from tests.docs.stored_lives import LIVES
from tests.docs.stored_samples import own_models

PAGE = DOCS / "reference" / "stored-items.md"
_HEAD = """\
# What the library stores

Beside an application's items, the library stores items of its own, in the same table. This page has the form of each:
its key, its attributes as DynamoDB holds them, its format version. It is made from the classes by
`python -m tests.docs.stored_items`, and a test holds it to them.

Each item has, as an application's, its type (`_type`) and its format version (`_v`), under the names that `Table` gives
these. `#` is the table's separator. The items of a document are those of a class `Project` with one collection,
`shapes`; the first word of their types is the class's. Nodes and edges are the application's: their `_v` is the version
of their class, and what the graph keeps in them is listed here.

In a table with a stream, an application's item also has `_trace`: the [context of the trace](../how-to/trace.md) in
which it was last written, if a listener gave one.

* Every change of a form raises its version, but one: an attribute more that may be absent. A program of the version
  before reads such an item, and keeps the attribute.
* A program that meets an item of a higher version than it knows raises `Newer`, which names both, and does not write
  over it. A newer task waits for a newer worker. Two are changed with another item whatever their version, as their key
  and their owner's decide: the guard of a unique value, and the `_task` that names an ordered one.
* A version that is no longer written has one line below its successor. How long it is read says
  [what a version promises](promises.md).
"""
_SECTION = re.compile(r"^## `(.+?)`, version (\d+)\n.*?^```text\n(.*?)^```\n((?:\n\* Version .*\n)*)", re.M | re.S)
_MAY_BE_ABSENT = "(may be absent)"


class StoredForm(Struct, frozen=True):
    """The form of one class as the page has it."""

    type: str
    version: int
    lines: tuple[str, ...]
    former: str = ""
    """A line for each version before."""

    def after(self, known: StoredForm | None) -> StoredForm:
        """The form with the lines of the versions before. ValueError where it differs from the page's of the same
        version, or of a later one."""
        if known is None:
            return self
        if known.version < self.version:
            said = " · ".join(" ".join(line.split()) for line in known.lines)
            return replace(self, former=f"{known.former}\n* Version {known.version}: `{said}`\n")
        more = [line for line in self.lines if line not in known.lines]
        is_kept = all(line in self.lines for line in known.lines)
        if known.version > self.version or not is_kept or not all(line.endswith(_MAY_BE_ABSENT) for line in more):
            raise ValueError(
                f"the form of {self.type} is not that of version {known.version} in {PAGE.name}: raise its version, "
                f"with a way to read the one before. What is new: {', '.join(more)}"
            )
        return replace(self, former=known.former)


def stored_form(model: Model[Any]) -> StoredForm:
    form = form_of(model)
    return StoredForm(model.type, model.version, (*_keys(model, form), *_attributes(form)))


def forms_in(text: str) -> dict[str, StoredForm]:
    """The forms that a page has, by type."""
    found = _SECTION.findall(text)
    return {
        name: StoredForm(name, int(version), tuple(lines.splitlines()), former)
        for name, version, lines, former in found
    }


def reference(known: Mapping[str, StoredForm]) -> str:
    """The page, after one that has the known forms. ValueError for a form that differs under the same version."""
    models = {model.type: model for model in own_models()}
    return "\n".join([_HEAD, *(_section(model, known.get(name)) for name, model in models.items())])


def _section(model: Model[Any], known: StoredForm | None) -> str:
    form = stored_form(model).after(known)
    doc = " ".join(inspect.cleandoc(_documented(model.kind)).partition("\n\n")[0].split())
    lines = "\n".join(form.lines)
    title, text = f"## `{form.type}`, version {form.version}", fill(f"{doc} {LIVES[model.type]}", 120)
    return f"{title}\n\n{text}\n\n```text\n{lines}\n```\n{form.former}"


def _documented(kind: type[Any]) -> str:
    """The docstring of the class, or of the one that it is made from; not the one that a dataclass gets."""
    texts: list[str] = [vars(base).get("__doc__") or f"{base.__name__}(" for base in kind.__mro__]
    return next(
        text for base, text in zip(kind.__mro__, texts, strict=True) if not text.startswith(f"{base.__name__}(")
    )


def _keys(model: Model[Any], form: EntityForm) -> Iterator[str]:
    assert form.slots is not None
    texts = {"key": form.key, **{f"index {name}": key for name, key in form.indexes.items()}}
    for name, key in texts.items():
        said = "; ".join(filter(None, form.slots[name]))
        yield f"{name:<17} {key[0]} / {key[1]}{f'    ({said})' if said else ''}"


def _attributes(form: EntityForm) -> Iterator[str]:
    for name, facts in (form.stored or {}).items():
        form_text = facts["form"] if isinstance(facts["form"], str) else json.dumps(facts["form"], sort_keys=True)
        name_of_class = facts.get("name", name)
        marks = [f"the class calls it {name_of_class}"] * (name_of_class.lstrip("_") != name)
        marks += ["in the key alone"] * ("in key" in facts and name_of_class in form.names)
        marks += ["unique"] * (facts.get("role") == "unique")
        marks += [f"default {json.dumps(facts.get('default'))}"] * ("default" in facts)
        marks += ["may be absent"] * ("optional" in facts or "default" in facts)
        yield f"{name:<17} {form_text}" + "".join(f" ({mark})" for mark in marks)
    for what, parts in (form.beside or {}).items():
        yield f"{what:<17} {json.dumps(parts, sort_keys=True)}"


if __name__ == "__main__":
    known = forms_in(PAGE.read_text()) if PAGE.exists() else {}
    try:
        PAGE.write_text(reference(known))
    except ValueError as error:
        sys.exit(f"{error}")
