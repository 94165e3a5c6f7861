"""What programs read instead of pages: `llms.txt`, which lists the pages, and `agents.txt`, one page with everything
that one needs to write an application: the idea, the tutorial, keys, verbs, each public signature, each error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from singletable import __version__
from tools.site.declarations import docstring, first_sentence, found, methods, signature
from tools.site.error_pages import entries
from tools.site.public import PACKAGES, names_of

ABOUT = "DynamoDB from Python: everything in one table, declared once; typed access patterns that say what they cost."
WHOLE = ("tutorial/first-table.md", "how-to/declare-keys.md", "how-to/attributes.md", "how-to/transactions.md")
"""The pages that stand in `agents.txt` as they are, where they are there."""
_SHELLS = {"Database", "Graph", "Documents", "Tasks", "TaskWorker", "Changes", "ChangeWorker", "Transaction", "Query"}
"""The classes whose methods an application calls: `Async...` has the same, awaited."""


def index(nav: Mapping[str, list[Path]], sources: Mapping[Path, str | bytes]) -> str:
    """llms.txt: each part of the site, each page with its first sentence, as a link to its Markdown."""
    lines = ["# singletable", "", f"> {ABOUT} Version {__version__}.", ""]
    lines.append("One page with all of it: [agents.txt](agents.txt)")
    for part, pages in nav.items():
        lines += ["", f"## {part}", ""]
        for page in pages:
            text = sources[page]
            assert isinstance(text, str)
            lines.append(f"- [{title_of(text)}]({page.as_posix()}): {opening_of(text)}")
    return "\n".join(lines) + "\n"


def title_of(text: str) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1].replace("`", "") if found else ""


def opening_of(text: str) -> str:
    """The first sentence that is prose."""
    body = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", body):
        if re.match(r"[A-Z`*\[]", paragraph.strip()):
            return re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", first_sentence(paragraph.strip()))
    return ""


def whole(sources: Mapping[Path, str | bytes]) -> str:
    """agents.txt."""
    parts = [f"# singletable {__version__}\n\n{ABOUT}\n"]
    parts += [_text(sources[Path(page)]) for page in WHOLE if Path(page) in sources]
    parts += ["# Every public name\n", *_names(), "# Errors\n", _errors()]
    return "\n".join(parts) + "\n"


def _text(text: str | bytes) -> str:
    assert isinstance(text, str)
    return re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text)


def _names() -> Iterator[str]:
    for package in PACKAGES:
        if package == "singletable.errors":
            continue
        yield f"## from {package} import ...\n"
        for name in names_of(package):
            of = found(package, name)
            yield f"{_flat(signature(of, name))}\n    {first_sentence(docstring(of))}"
            if name in _SHELLS:
                for method, at in methods(of):
                    yield f"{_flat(signature(at, f'{name}.{method}'))}\n    {' '.join(docstring(at).split())}"
        yield ""


def _flat(signature: str) -> str:
    """Each form on one line."""
    return re.sub(r",?\n\)", ")", re.sub(r"\n {4}", " ", signature)).replace("( ", "(")


def _errors() -> str:
    return "\n".join(f"{each.name} ({each.code}): {_advice(each.text)}" for each in entries().values())


def _advice(body: str) -> str:
    found = re.search(r"\*\*What to do\.\*\* (.*?)(?:\n\n|\Z)", body, re.DOTALL)
    return _text(" ".join(found[1].split())) if found else ""


def write(folder: Path, nav: Mapping[str, list[Path]], sources: Mapping[Path, str | bytes]) -> None:
    """Both, and each page's Markdown beside its HTML."""
    (folder / "llms.txt").write_text(index(nav, sources))
    (folder / "agents.txt").write_text(whole(sources))
    for place, text in sources.items():
        if isinstance(text, str):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text)
