"""A page as it was rendered, with one of its forms as somebody filled it in, and what is wrong with that.

    page = filled(html, Sent("/contacts", "post", Fields([("name", "x" * 201)])), "a name is too long", "name")

It works on the text of a page: no template has to know of it, and no form can be forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape, unescape
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import unquote

from examples_shared.forms import WAS, Fields

_UNTYPED = frozenset({"hidden", "password", "submit", "button", "image", "reset"})
_TICKED = frozenset({"checkbox", "radio"})
_PROBLEM = "problem"
"""The id and the class of what is said: one form is sent at a time."""


@dataclass(frozen=True)
class Sent:
    """What a form sent, and where to."""

    path: str
    """Without escapes."""
    method: str
    """get or post."""
    fields: Fields
    is_outdated: bool = False
    """Somebody else changed what the page showed: what the person left is to be shown as it is now."""

    def sets(self, name: str, value: str | None = None) -> bool:
        """Whether a field is to hold what was sent; for a box, whether the person ticked or cleared it."""
        if not self.is_outdated or WAS + name not in self.fields:
            return not (self.is_outdated and name.startswith(WAS))
        if value is None:
            return self.fields.changed(name)
        return (value in self.fields.all(name)) != (value in self.fields.was(name).split("\n"))


@dataclass(frozen=True)
class _Tag:
    """A tag, and where it stands in the page's text."""

    name: str
    is_end: bool
    attributes: dict[str, str | None]
    start: int
    end: int

    def has(self, name: str, value: str) -> bool:
        return self.attributes.get(name) == value

    def with_attributes(self, **changed: str | None) -> str:
        """Its text with attributes set; `None` takes one away."""
        every: dict[str, str | None] = {name: "" if value is None else value for name, value in self.attributes.items()}
        every |= {name.replace("_", "-"): value for name, value in changed.items()}
        said = (f' {name}="{escape(value)}"' for name, value in every.items() if value is not None)
        return f"<{self.name}{''.join(said)}>"


class _Reader(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self._lines = [0]
        for line in html.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        self.tags: list[_Tag] = []
        self._html = html
        self.feed(html)
        self.close()

    def _add(self, name: str, is_end: bool, attributes: dict[str, str | None]) -> None:
        line, column = self.getpos()
        start = self._lines[line - 1] + column
        text = None if is_end else self.get_starttag_text()
        end = start + len(text) if text is not None else self._html.index(">", start) + 1
        self.tags.append(_Tag(name, is_end, attributes, start, end))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(tag, False, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        self._add(tag, True, {})


@dataclass(frozen=True)
class _Form:
    """A form's tags, its own first, and the <details> around it."""

    tags: Sequence[_Tag]
    around: Sequence[_Tag]

    def takes(self, sent: Sent, page: str) -> bool:
        """Whether this form, of a page's, is what was sent: the same way, to the same place, with what it hides."""
        head = self.tags[0]
        if (head.attributes.get("method") or "get").lower() != sent.method:
            return False
        places = [head.attributes.get("action") or page, *(tag.attributes.get("formaction") or "" for tag in self.tags)]
        hidden = [tag for tag in self.tags if tag.has("type", "hidden") and not _name(tag).startswith(WAS)]
        are_sent = ((_name(tag), tag.attributes.get("value") or "") in sent.fields.pairs for tag in hidden)
        return sent.path in map(unquote, places) and all(are_sent)

    def typed(self) -> list[_Tag]:
        """The elements that somebody fills in."""
        return [
            tag
            for tag in self.tags
            if not tag.is_end and tag.name in ("input", "select", "textarea") and not _is_untyped(tag)
        ]


def filled(html: str, sent: Sent, said: str, field: str | None = None, page: str = "") -> str | None:
    """The page with the form that was sent as it was sent, and what is said beside the field, or above all of them.

    None where the page, whose path is `page`, has no such form.
    """
    form = next((form for form in _forms(_Reader(html).tags) if form.takes(sent, page)), None)
    if form is None:
        return None
    typed = form.typed()
    blamed = next((tag for tag in typed if _name(tag) == field), typed[0] if len(typed) == 1 else None)
    problem = f'<span class="{_PROBLEM}" id="{_PROBLEM}" role="alert">{escape(said)}</span>'
    edits = [(tag.start, tag.end, tag.with_attributes(open="")) for tag in form.around]
    if blamed is None:
        edits.append((form.tags[0].end, form.tags[0].end, problem))
    for place, tag in enumerate(form.tags):
        edits += _edits(html, form.tags[place:], sent, problem if tag is blamed else "")
    for start, end, text in sorted(edits, reverse=True):
        html = html[:start] + text + html[end:]
    return html


def _edits(html: str, tags: Sequence[_Tag], sent: Sent, problem: str) -> Iterator[tuple[int, int, str]]:
    """What becomes of the element that begins with the first of the tags: which part of the text, and its new text."""
    tag = tags[0]
    box = _value(tag) if tag.attributes.get("type") in _TICKED else None
    is_set = sent.sets(_name(tag), box)
    fields = sent.fields if is_set else Fields([])
    blame = {"aria_invalid": "true", "aria_describedby": _PROBLEM, "autofocus": ""} if problem else {}
    if tag.is_end or not (is_set or problem):
        return
    if tag.name == "details":
        yield tag.start, tag.end, tag.with_attributes(open="")
    elif tag.name == "input" and (not _is_untyped(tag) or _name(tag).startswith(WAS)):
        value: dict[str, str | None] = {"value": fields.get(_name(tag), tag.attributes.get("value") or "")}
        if box is not None:
            value = {"checked": "" if box in fields.all(_name(tag)) else None} if is_set else {}
        yield tag.start, tag.end, tag.with_attributes(**value, **blame) + problem
    elif tag.name == "textarea":
        end = next(each for each in tags if each.is_end and each.name == "textarea")
        text = escape(fields.get(_name(tag), unescape(html[tag.end : end.start])))
        yield tag.start, end.end, f"{tag.with_attributes(**blame)}\n{text}</textarea>{problem}"
    elif tag.name == "select":
        yield from _of_select(html, tags, fields if is_set else None, problem, blame)


def _value(box: _Tag) -> str:
    return box.attributes.get("value") or "on"


def _of_select(
    html: str, tags: Sequence[_Tag], fields: Fields | None, problem: str, blame: dict[str, str]
) -> Iterator[tuple[int, int, str]]:
    end = next(place for place, each in enumerate(tags) if each.is_end and each.name == "select")
    if blame:
        yield tags[0].start, tags[0].end, tags[0].with_attributes(**blame)
    for option, after in pairwise(tags[: end + 1]):
        if fields is not None and option.name == "option" and not option.is_end:
            value = option.attributes.get("value", unescape(html[option.end : after.start]).strip())
            yield (
                option.start,
                option.end,
                option.with_attributes(selected="" if value in fields.all(_name(tags[0])) else None),
            )
    yield tags[end].end, tags[end].end, problem


def _forms(tags: Sequence[_Tag]) -> Iterator[_Form]:
    around: list[_Tag] = []
    for place, tag in enumerate(tags):
        if tag.name == "details":
            around = around[:-1] if tag.is_end else [*around, tag]
        if tag.name == "form" and not tag.is_end:
            end = next(other for other in range(place, len(tags)) if tags[other].name == "form" and tags[other].is_end)
            yield _Form(tags[place:end], around)


def _name(tag: _Tag) -> str:
    return tag.attributes.get("name") or ""


def _is_untyped(tag: _Tag) -> bool:
    return tag.attributes.get("type") in _UNTYPED
