"""Builds the documentation as static pages that open from a disk: `make docs`.

    python -m tools.site                 into dist/site
    python -m tools.site --out FOLDER

The pages are docs/, the READMEs and what they link to; the reference has each public name's signature and docstring put
in from the source. A warning of the generator, a link that leads nowhere, a request to another host: each fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from singletable.studio.tables import with_columns
from singletable.version import VERSION
from tools.site import agents, search
from tools.site.built import defects, pages
from tools.site.error_pages import FOLDER
from tools.site.pages import sources
from tools.site.public import ROOT

SETTINGS = Path(__file__).with_name("zensical.toml")
SEARCH_FROM_DISK = ROOT / "node_modules" / "iframe-worker" / "shim" / "index.js"
ASSETS = [Path(__file__).with_name(name) for name in ("style.css", "accessible.js")]


_READABLE = 0o644
"""By a web server too, which is another user than the one that unpacks."""
_WORD = re.compile(r"<code>([^\s<]{1,36}|[^<]{1,24})</code>")
"""A short code, which the style sheet holds together: a browser would break it at a space or a hyphen."""


def navigation() -> dict[str, list[Path]]:
    """The parts of the site with their pages, as the settings have them."""
    settings: dict[str, Any] = tomllib.loads(SETTINGS.read_text())
    parts = [(name, below) for part in settings["project"]["nav"] for name, below in part.items()]
    return {name: list(_paths(below)) for name, below in parts}


def _paths(below: object) -> Iterator[Path]:
    if isinstance(below, str):
        yield Path(below)
    elif isinstance(below, dict):
        for each in cast("dict[str, object]", below).values():
            yield from _paths(each)
    elif isinstance(below, list):
        for each in cast("list[object]", below):
            yield from _paths(each)


def build(out: Path, work: Path) -> list[str]:
    """Build into a folder; what the generator said and what is wrong with the pages, a line each.

    A table's first, empty cell becomes an ordinary one: a heading without a text means nothing to a screen reader. Each
    cell says its column, which is shown on a phone.
    """
    shutil.rmtree(work, ignore_errors=True)
    made = sources()
    for place, content in made.items():
        path = work / "docs" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for asset in ASSETS:
        shutil.copy(asset, work / "docs")
    (work / "docs" / "assets").mkdir()
    shutil.copy(SEARCH_FROM_DISK, work / "docs" / "assets" / "iframe-worker.js")
    (work / SETTINGS.name).write_text(SETTINGS.read_text().replace("singletable VERSION", f"singletable {VERSION}"))
    said = _generate(work)
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(work / "site", out, ignore=shutil.ignore_patterns("404.html", "sitemap.xml*", "objects.inv"))
    for page in pages(out):
        text = page.read_text().replace("<th></th>", "<td></td>")
        page.write_text(with_columns(_WORD.sub(r'<code class="word">\1</code>', text)))
    agents.write(out, navigation(), made)
    listed = {page for part in navigation().values() for page in part}
    lost = [f"{place}: is in no part of the navigation" for place in made if _belongs(place) and place not in listed]
    return [*said, *lost, *search.write(out), *defects(out)]


def packed(site: Path, out: Path) -> Path:
    """An archive of a built site, named by its version. Of the same pages it has the same bytes."""
    archive = out / f"singletable-site-{VERSION}.zip"
    with zipfile.ZipFile(archive, "w") as pack:
        for file in sorted(path for path in site.rglob("*") if path.is_file()):
            place = zipfile.ZipInfo(f"singletable-site-{VERSION}/{file.relative_to(site).as_posix()}")
            place.external_attr = _READABLE << 16
            pack.writestr(place, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive


def _belongs(place: Path) -> bool:
    """Errors are found from the page that lists them."""
    return place.suffix == ".md" and place.parent != FOLDER


def _generate(work: Path) -> list[str]:
    """Run the generator; the lines of it that warn."""
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    environ = {**os.environ, "NO_COLOR": "1"}
    ran = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False, env=environ)
    said = (ran.stdout + ran.stderr).splitlines()
    if ran.returncode:
        return said or [f"zensical ended with {ran.returncode}"]
    return [line for line in said if "warn" in line.lower() or "error" in line.lower()]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "site", help="dist/site without")
    out = parser.parse_args().out.absolute()
    wrong = build(out, ROOT / "build" / "site")
    if wrong:
        print(*wrong, f"{len(wrong)} defects", sep="\n", file=sys.stderr)
        return 1
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print(f"{out}: {len(pages(out))} pages, {size / 1e6:.1f} MB; open {out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
