"""What a form was made of goes with it: what the person left as it was is not written, and where somebody else changed
what the page showed, nothing is written and the form comes back with both.

A page shows something stored as the texts of a form's fields. Its template sends them along, as `was_NAME`; the action
compares them with what is stored, in the attempt that writes:

    {{ as_read(shown) }}

    app.rename(id, form.text("name"), check=lambda stored: check_as_read(form, shown_of(stored)))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup

from examples_shared.errors import Changed, Difference
from examples_shared.forms import WAS, Fields

Shown = Mapping[str, str]
"""The text of each field; of a field with several values one a line."""
Words = Callable[[str], str]
_HIDDEN = Markup('<input type="hidden" name="{}" value="{}">')


def as_read(shown: Shown) -> Markup:
    """The hidden fields that a form's template takes in."""
    return Markup("").join(_HIDDEN.format(WAS + name, text) for name, text in shown.items())


def check_as_read(form: Fields, shown: Shown, words: Words = str) -> None:
    """Changed where a field, as the stored thing shows it now, is not what the form was made of.

    `words` makes a name or a text one for people. A form that says of nothing what it was is a program's: the last one
    wins.
    """
    read = {name.removeprefix(WAS) for name in form if name.startswith(WAS)}
    if not read:
        return
    differences = {
        words(name): Difference(*(words(text) for text in (form.was(name), shown.get(name, ""), form.typed(name))))
        for name in sorted(read | shown.keys())
        if form.was(name) != shown.get(name, "").strip()
    }
    if differences:
        raise Changed("this", differences)
