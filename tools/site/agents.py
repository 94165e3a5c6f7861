"""What programs read instead of pages: `llms.txt`, which lists the pages, and `agents.txt`, what one needs to write an
application, as `singletable agents` prints it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from singletable import __version__
from tools.site.declarations import first_sentence
from tools.site.public import ROOT

ABOUT = "DynamoDB from Python: everything in one table, declared once; typed access patterns that say what they cost."
WHOLE = ROOT / "src" / "singletable" / "cli" / "agents.md"


def index(nav: Mapping[str, list[Path]], sources: Mapping[Path, str | bytes]) -> str:
    """llms.txt: each part of the site, each page with its first sentence, as a link to its Markdown."""
    lines = ["# singletable", "", f"> {ABOUT} Version {__version__}.", ""]
    lines.append("What one must know to write an application: [agents.txt](agents.txt)")
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


def write(folder: Path, nav: Mapping[str, list[Path]], sources: Mapping[Path, str | bytes]) -> None:
    """Both, and each page's Markdown beside its HTML."""
    (folder / "llms.txt").write_text(index(nav, sources))
    (folder / "agents.txt").write_text(WHOLE.read_text())
    for place, text in sources.items():
        if isinstance(text, str):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text)
