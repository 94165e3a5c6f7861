"""A page for each error, and the page that lists them: made of the entries of `docs/reference/errors.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from singletable import SingletableError
from tools.site.public import ERRORS, PACKAGES, examples, names_of, passed_on
from tools.site.reference import described

FOLDER = Path("reference", "errors")
_ENTRY = re.compile(
    r'^<a id="(?P<code>[^"]+)"></a>\n\n#+ (?P<name>\w+) · `[^`]+`\n(?P<text>.*?)(?=^<a id=|^## [^\n`]*$|\Z)',
    re.DOTALL | re.MULTILINE,
)
_BEFORE_EXAMPLES = "Each example runs by itself"
_WHY = re.compile(r"\*\*Why\.\*\* (.*?\.)(?=\s)", re.DOTALL)


@dataclass(frozen=True)
class Entry:
    code: str
    name: str
    text: str

    @property
    def place(self) -> Path:
        return FOLDER / f"{self.code}.md"

    @property
    def program(self) -> str:
        """Its example with what goes before it: it runs by itself."""
        return f"{setup()}\n{examples(self.text)}"


@cache
def entries() -> dict[str, Entry]:
    """Each error's entry, by its code, in the order of the tree."""
    found = _ENTRY.finditer(ERRORS.read_text())
    return {each["code"]: Entry(each["code"], each["name"], each["text"].strip()) for each in found}


def setup() -> str:
    """The Python that each example runs after."""
    return examples(_head())


def _head() -> str:
    return ERRORS.read_text().partition("<a id=")[0]


def listing() -> str:
    """The page of all errors: the tree, a line an error, and the service's codes. Examples are on the errors' pages."""
    lines = [f"| {_link(each.name, each.code)} | `{each.code}` | {_why(each)} |" for each in entries().values()]
    table = "\n".join(["| error | code | why |", "|---|---|---|", *lines])
    tail = _ENTRY.sub("", ERRORS.read_text()).removeprefix(_head())
    return f"{_head().partition(_BEFORE_EXAMPLES)[0].rstrip()}\n\n## All errors\n\n{table}\n\n{tail.lstrip()}"


def _why(entry: Entry) -> str:
    """The first sentence of its reason."""
    found = _WHY.match(entry.text)
    return " ".join(found[1].split()) if found else ""


def _link(name: str, code: str) -> str:
    """As the repository has it: in the site, it leads to the error's own page."""
    return f"[`{name}`](errors.md#{code})"


def page_of_error(entry: Entry) -> str:
    """Its place in the tree, why it is raised and what to do, an example that runs by itself, the class."""
    (kind,) = (each for each in _kinds(SingletableError) if each.__name__ == entry.name)
    above = [each for each in kind.__mro__[1:] if issubclass(each, SingletableError)]
    parent = f"Parent: {_link(above[0].__name__, above[0].code)}. " if above else ""
    lines = [
        f"# {entry.name}\n\nCode: `{entry.code}`. {parent}All of them: [errors](errors.md).\n\n{entry.text}\n",
        f"The example runs after this:\n\n```python\n{setup().strip()}\n```\n\n## The class",
        *described(ERRORS, _package_of(kind), entry.name, {f"{entry.name}.help_url"}),
    ]
    return "\n".join(lines) + "\n"


def _kinds(kind: type[SingletableError]) -> Iterator[type[SingletableError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


def _package_of(kind: type[SingletableError]) -> str:
    """Where it is imported from."""
    if kind.__name__ in passed_on("singletable"):
        return "singletable"
    named = (each for each in PACKAGES if kind.__name__ in names_of(each))
    own = (each for each in named if getattr(import_module(each), kind.__name__) is kind)
    return next(own, kind.__module__)
