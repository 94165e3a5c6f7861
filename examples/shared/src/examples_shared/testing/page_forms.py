"""The forms of pages as a browser has them, and a walk through all that an application's pages lead to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import quote, unquote, urlencode

import httpx

Ask = Callable[[str, str, str], Awaitable[httpx.Response]]
"""A method, a path and a body, as somebody who has signed in."""
BAD = '"><b>&amp;</textarea>\x07' + "x" * 4_000
"""No text field of any form takes it, and no text area when it is repeated."""


@dataclass
class Control:
    """An input, a text area or a select."""

    kind: str
    name: str
    values: list[str]
    """What it would send; for a check box what it would send when ticked."""
    is_ticked: bool = False
    options: list[str] = field(default_factory=list[str])

    @property
    def is_text(self) -> bool:
        return self.kind not in ("hidden", "checkbox", "radio", "select", "password")


@dataclass
class PageForm:
    method: str
    action: str
    controls: list[Control] = field(default_factory=list[Control])
    other_actions: list[str] = field(default_factory=list[str])
    problem: str = ""
    blamed: str | None = None
    """The name of the control that the problem stands behind; None for the whole form's."""
    is_folded: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(control.name for control in self.controls)


class Page(HTMLParser):
    """What a browser makes of a page: its forms and its links."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self.links: list[str] = []
        self._open: PageForm | None = None
        self._folded: list[bool] = []
        self._reads: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and (given.get("href") or "").startswith("/"):
            self.links.append((given["href"] or "").partition("#")[0])
        if tag == "details":
            self._folded.append("open" not in given)
        if tag == "form":
            self._open = PageForm(given.get("method") or "get", unquote(given.get("action") or ""))
            self.forms.append(self._open)
        if self._open is not None:
            self._in_form(self._open, tag, given)

    def _in_form(self, form: PageForm, tag: str, given: dict[str, str | None]) -> None:
        name, value = given.get("name") or "", given.get("value")
        if tag == "input":
            kind = given.get("type") or "text"
            usual = "on" if kind in ("checkbox", "radio") else ""
            form.controls.append(Control(kind, name, [usual if value is None else value], "checked" in given))
        elif tag in ("textarea", "select"):
            form.controls.append(Control(tag, name, []))
        elif tag == "option":
            self._option(form.controls[-1], value, "selected" in given)
        elif tag == "button" and given.get("formaction"):
            form.other_actions.append(unquote(given["formaction"] or ""))
        elif given.get("class") == "problem":
            form.blamed = form.controls[-1].name if form.controls else None
            form.is_folded = any(self._folded)
            self._reads = "problem"
        if tag == "textarea":
            self._reads = "textarea"

    def _option(self, select: Control, value: str | None, is_selected: bool) -> None:
        select.options.append(value or "")
        if value is None:
            self._reads = "option selected" if is_selected else "option"
        elif is_selected:
            select.values.append(value)

    def handle_data(self, data: str) -> None:
        form, reads = self._open, self._reads
        if form is None or reads is None:
            return
        if reads == "problem":
            form.problem += data
        elif reads == "textarea":
            so_far = "".join(form.controls[-1].values)
            form.controls[-1].values = [so_far + (data if so_far else data.removeprefix("\n"))]
        else:
            form.controls[-1].options[-1] = data
            form.controls[-1].values += [data] if reads == "option selected" else []

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        if tag == "details":
            self._folded.pop()
        if tag in ("textarea", "option", "span"):
            self._reads = None


def misfilled(form: PageForm) -> list[tuple[str, str]]:
    """A form with something that can't be meant in each text field, the last of each choice, each box turned over."""
    pairs: list[tuple[str, str]] = []
    for control in form.controls:
        if control.is_text:
            pairs.append((control.name, BAD * 6 if control.kind == "textarea" else BAD))
        elif control.kind == "select":
            pairs += [(control.name, control.options[-1])] if control.options else []
        elif control.kind == "hidden" or not control.is_ticked:
            pairs += [(control.name, value) for value in control.values]
    return pairs


def kept(form: PageForm, pairs: list[tuple[str, str]]) -> bool:
    """Whether a form shows what was sent."""
    for control in form.controls:
        sent = [value for name, value in pairs if name == control.name]
        if control.kind == "checkbox" and control.is_ticked != (control.values[0] in sent):
            return False
        if control.is_text and control.values != sent:
            return False
        if control.kind == "select" and control.values != sent:
            return False
    return True


def pairs_of(form: PageForm, typed: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """What a browser sends of a form in which somebody typed: into fields, by name; None clears all boxes of a name."""
    pairs: list[tuple[str, str]] = []
    for control in form.controls:
        is_box = control.kind in ("checkbox", "radio")
        if control.name in typed and not is_box:
            pairs.append((control.name, typed[control.name] or ""))
        elif control.name in typed and (said := typed[control.name]) is not None:
            pairs += [(control.name, value) for value in control.values if value == said]
        elif control.name not in typed and (not is_box or control.is_ticked):
            pairs += [(control.name, value) for value in control.values]
    return pairs


async def form_at(ask: Ask, path: str, action: str, field: str) -> PageForm:
    """The form of a page that goes somewhere, and has a field."""
    answer = await ask("GET", path, "")
    assert answer.status_code == 200, (path, answer.text)
    found = [each for each in Page(answer.text).forms if each.action == action and field in each.names]
    assert len(found) == 1, (path, action, field, [(each.action, each.names) for each in Page(answer.text).forms])
    return found[0]


async def save(ask: Ask, form: PageForm, typed: Mapping[str, str | None]) -> httpx.Response:
    return await ask("POST", quote(form.action), urlencode(pairs_of(form, typed)))


@dataclass(frozen=True)
class Edit:
    """A form that changes what is stored: where it stands, where it goes, and what two people type into it."""

    page: str
    action: str
    one: Mapping[str, str | None]
    other: Mapping[str, str | None]


async def two_tabs(ask: Ask, edit: Edit) -> None:
    """A form in two tabs: the later save is refused, says what was changed, holds what was typed, and shows what the
    first one stored. Sent again it is stored, and what the first one stored stays."""
    field = next(iter(edit.other))
    one, other = [await form_at(ask, edit.page, edit.action, field) for _ in range(2)]
    assert (await save(ask, one, edit.one)).status_code == 303
    stored = await form_at(ask, edit.page, edit.action, field)
    refused = await save(ask, other, edit.other)
    assert refused.status_code == 409, refused.text
    assert "changed meanwhile" in refused.text
    (back,) = [each for each in Page(refused.text).forms if each.problem]
    assert (back.action, back.is_folded) == (edit.action, False)
    assert pairs_of(back, {}) == pairs_of(stored, edit.other), "what the first stored, with what the second typed"
    again = await form_at(ask, edit.page, edit.action, field)
    assert pairs_of(again, {}) == pairs_of(stored, {}), "nothing was stored"
    assert (await save(ask, back, {})).status_code == 303
    last = await form_at(ask, edit.page, edit.action, field)
    assert without_was(pairs_of(last, {})) == without_was(pairs_of(stored, edit.other))


def without_was(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if not pair[0].startswith("was_")]


def uncarried(form: PageForm) -> list[str]:
    """The filled-in fields of a form that don't say what the page showed in them."""
    shown = [each for each in form.controls if each.kind not in ("hidden", "select", "radio")]
    held = [each.name for each in shown if (each.is_ticked if each.kind == "checkbox" else any(each.values))]
    return sorted({name for name in held if f"was_{name}" not in form.names})


async def forms_from(ask: Ask, start: str, most: int) -> list[tuple[str, PageForm]]:
    """Each form of the pages that links lead to, with the page that it stands on."""
    waiting, seen = [start], {start}
    found: dict[tuple[object, ...], tuple[str, PageForm]] = {}
    for _ in range(most):
        if not waiting:
            break
        path = waiting.pop(0)
        answer = await ask("GET", path, "")
        if not answer.headers.get("content-type", "").startswith("text/html"):
            continue
        assert answer.status_code == 200, (path, answer.text)
        page = Page(answer.text)
        for form in page.forms:
            found.setdefault((form.method, form.action, form.names), (path, form))
        for link in page.links:
            if link not in seen and not link.startswith("/static/"):
                seen.add(link)
                waiting.append(link)
    return list(found.values())


def ways(form: PageForm, path: str) -> Iterator[str]:
    """Where the form goes, by each of its buttons that reads what it holds."""
    yield form.action or path
    yield from (action for action in form.other_actions if not action.endswith("/delete"))


async def refuse_each(ask: Ask, start: str = "/", most: int = 80) -> set[str]:
    """Send each form that has a text field, wrongly filled in: it is refused, shows why beside one of its own fields,
    and holds all that was typed. Gives where they went."""
    sent: set[str] = set()
    for path, form in await forms_from(ask, start, most):
        if not any(control.is_text for control in form.controls):
            continue
        pairs = misfilled(form)
        for action in ways(form, path.partition("?")[0]):
            answer = await _send(ask, form.method, action, pairs)
            assert 400 <= answer.status_code < 500, (path, action, answer.status_code, answer.headers)
            page = Page(answer.text)
            back = next((each for each in page.forms if each.problem and each.names == form.names), None)
            assert back is not None, (path, action, [(each.action, each.names) for each in page.forms], form.names)
            assert kept(back, pairs), (path, action)
            assert back.blamed in back.names, (path, action, back.problem)
            assert not back.is_folded, (path, action)
            sent.add(action)
    return sent


async def _send(ask: Ask, method: str, action: str, pairs: list[tuple[str, str]]) -> httpx.Response:
    if method == "post":
        return await ask("POST", quote(action), urlencode(pairs))
    answer = await ask("GET", f"{quote(action)}?{urlencode(pairs)}", "")
    return await ask("GET", answer.headers["location"], "") if answer.status_code == 303 else answer
