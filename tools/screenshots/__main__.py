"""Pictures of the studio for the documentation, taken in Chromium: `make screenshots`.

    python -m tools.screenshots            those whose page, template or style changed
    python -m tools.screenshots --all      every one
    python -m tools.screenshots --check    say which are behind, and take none; the exit code is 1 where one is

Each application is filled as its own demonstration fills it, at a clock that stands still, and shown by a studio in
this process. docs/images/studio/pictures.json has the digest of what each picture was made of.
"""

from __future__ import annotations

import argparse
import asyncio  # noqa: TID251  (server and browser share an event loop)
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright

from tools.screenshots.served import TABLES, served
from tools.screenshots.shots import ROOT, SHOTS, Shot, digest_of

FOLDER = ROOT / "docs" / "images" / "studio"
LIST = FOLDER / "pictures.json"
DATA = Path("data/pictures")
"""As pages show where data are: below the folder that git ignores."""
BROWSERS = (Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium"))


def behind() -> list[Shot]:
    """The pictures that are missing, or were made of something else than there is now."""
    known: dict[str, str] = json.loads(LIST.read_text()) if LIST.exists() else {}
    return [shot for shot in SHOTS if known.get(shot.name) != digest_of(shot) or not (FOLDER / shot.file).exists()]


async def take(shots: Sequence[Shot]) -> None:
    """Take pictures, application by application."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    executable = next((str(path) for path in BROWSERS if path.exists()), None)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        for application in TABLES:
            some = [shot for shot in shots if shot.application == application]
            if some:
                async with served(application, DATA) as address:
                    for shot in some:
                        await _picture(browser, address, shot)
        await browser.close()


async def _picture(browser: Any, address: str, shot: Shot) -> None:
    context = await browser.new_context(
        viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme, reduced_motion="reduce"
    )
    page = await context.new_page()
    await page.goto(address)
    answer = await page.goto(address.partition("/?")[0] + shot.path)
    assert answer.status == 200, f"{shot.path}: {answer.status}"
    if shot.wait_for:
        await page.wait_for_selector(shot.wait_for)
    await page.screenshot(path=str(FOLDER / shot.file), scale="css")
    await context.close()
    print(f"{shot.file}: {(FOLDER / shot.file).stat().st_size // 1024} KB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description="Pictures of the studio.")
    parser.add_argument("--all", action="store_true", help="take every picture")
    parser.add_argument("--check", action="store_true", help="say which pictures are behind, and take none")
    options = parser.parse_args()
    found = list(SHOTS) if options.all else behind()
    if options.check:
        print("\n".join(f"{shot.file} is behind its page" for shot in found) or "Every picture is of its page.")
        sys.exit(1 if found else 0)
    asyncio.run(take(found))
    LIST.write_text(json.dumps({shot.name: digest_of(shot) for shot in SHOTS}, indent=1) + "\n")


if __name__ == "__main__":
    main()
