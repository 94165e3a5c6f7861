"""A studio in a process of its own and a browser that looks at it: what any test of its pages needs.

with studio_of("organisations.model", target, "--write") as address:
    with opened(browser, address) as page: ...       # nothing was said on the console, nothing came from elsewhere
"""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any

import pytest

from examples_shared.testing.nursery import SERVING, start_program
from tests.browser.frames import wait_for_frame
from tools.distributions import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (390, 820, 1440)
SCHEMES = ("light", pytest.param("dark", marks=pytest.mark.soak))
"""In the dark only the contrast of colours differs; there the long run also has what axe finds on a phone."""
PATIENCE_MS, PATIENCE_SECONDS = 30_000, 45
_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""
# What is in order stays in the browser: to hand it over takes longer than to find it.
_RUN = "options => axe.run(options).then(({violations}) => violations)"
# Whether a focus shows: by an outline, or as a node of a picture does, by the stroke of its circle.
_WATCH = """
() => {
  const all = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  const found = [...document.querySelectorAll(all)];
  window.toReach = new Set(found.filter((each) => each.checkVisibility() && !each.disabled));
  window.unshown = new Set();
  document.addEventListener("focusin", ({ target }) => {
    window.toReach.delete(target);
    const { outlineStyle, outlineWidth } = getComputedStyle(target);
    const isOutlined = outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
    const circle = target.querySelector(":scope > circle");
    const isStroked = circle !== null && getComputedStyle(circle).strokeWidth === "3px";
    if (!isOutlined && !isStroked && target.id !== "main") window.unshown.add(target);
  });
  return window.toReach.size;
}
"""
_LEFT = """
() => [["is not reached", window.toReach], ["shows no focus", window.unshown]].flatMap(
  ([what, some]) => [...some].map((each) => `${each.outerHTML.slice(0, 120)} ${what}`))
"""
Page = Any


@contextmanager
def studio_of(module: str, target: str, *options: str) -> Generator[str]:
    """The address of `singletable studio`, from when it is printed: the first line of its output."""
    arguments = ["studio", module, "--db", target, *options]
    warm = ["singletable.cli.app", "singletable.cli.studio", "singletable.studio", *SERVING, module]
    with (
        TemporaryFile() as err,
        start_program("singletable.cli", *arguments, warm=warm, stdout=subprocess.PIPE, stderr=err) as process,
    ):
        try:
            assert process.stdout is not None
            address = process.stdout.readline().decode().strip()
            assert address, err.seek(0) or err.read()
            yield address
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


@contextmanager
def opened(
    browser: Any, address: str, *, width: int = 1200, scheme: str = "light", scripts: bool = True
) -> Generator[Page]:
    """A page of a profile of its own that has entered. At the end nothing was said on the console, nothing came from
    elsewhere, and the content security policy was kept."""
    base = address.partition("/?")[0]
    said: list[str] = []
    foreign: list[str] = []
    look = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    context = browser.new_context(**look, base_url=base, java_script_enabled=scripts)
    context.add_init_script(_VIOLATIONS)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append("a dialog"))
    page.on("request", lambda request: foreign.extend([] if request.url.startswith(base) else [request.url]))
    try:
        page.goto(address)
        yield page
        assert violations(page) == []
        assert [text for text in said if "Failed to load resource" not in text] == []
        assert foreign == []
    finally:
        context.close()


def violations(page: Page) -> list[str]:
    """What the content security policy refused."""
    found: list[str] = page.evaluate("window.violations ?? []")
    return found


def barriers(page: Page, *rules: str, contrast: bool = True) -> list[str]:
    """What axe finds, by some rules or all of them, with the first place of each."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    without = {} if contrast else {"rules": {"color-contrast": {"enabled": False}}}
    found = page.evaluate(_RUN, {"runOnly": list(rules)} if rules else without)
    firsts = [(each["id"], each["nodes"][0]) for each in found]
    return [f"{rule} at {node['target']}: {node['html'][:120]}" for rule, node in firsts]


def overflow(page: Page) -> int:
    """By how many pixels a page is wider than its window."""
    found: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return found


def sideways(page: Page) -> list[str]:
    """The tables that have to be scrolled to be read, by the names of their regions."""
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('.scroll:has(table)')].filter(each => each.scrollWidth > each.clientWidth)"
        ".map(each => each.getAttribute('aria-label'))"
    )
    return found


def without_keys(page: Page) -> list[str]:
    """What Tab does not come to, and what does not show that it has the focus."""
    wait_for_frame(page)
    for _ in range(page.evaluate(_WATCH) * 3):  # a date has several stops
        page.keyboard.press("Tab")
        if page.evaluate("window.toReach.size === 0"):
            break
    found: list[str] = page.evaluate(_LEFT)
    return found


def at_each_width(page: Page, path: str, scheme: str) -> list[str]:
    """What is wrong with a page that a phone loads and that is made wider: for the eye, for axe at a desk, and last for
    keys. In the dark nothing but colours differs: axe looks at them on a phone."""
    phone, tablet, desk = WIDTHS
    found: list[str] = []
    for width in (phone, desk, tablet) if scheme == "light" else (phone,):
        page.set_viewport_size({"width": width, "height": 900})
        if width == phone:
            page.goto(path)
            found += [f"{each} is scrolled on a phone" for each in sideways(page)]
        if width == (desk if scheme == "light" else phone):
            found += [f"{each}, at {width}" for each in barriers(page)]
        if by := overflow(page):
            found.append(f"{by} pixels too wide at {width}")
        if width == tablet:
            found += without_keys(page)
    return found


def press(page: Page, name: str) -> None:
    """Press a button that leads to another page."""
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name=name, exact=True).click()
