"""The reference: what a page of the repository says by hand, with each name's signature and docstring put in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe

from singletable import errors
from tools.site.declarations import docstring, fields, found, methods, signature
from tools.site.public import API, ERRORS, all_packages, names_in, names_of, packages_on, page_of

_CODE = re.compile(r"`([A-Z]\w+)`")
_DOCS = re.compile(r"`?\bdocs/([\w/-]+)\.md`?")


def is_reference(page: Path) -> bool:
    return page.parent == API and page.name != "index.md"


def expanded(page: Path) -> str:
    """A page with what the source says below each heading of a public name."""
    text = page.read_text()
    own = set(_headings(text))
    return "\n".join(_lines(page, text, own)) + "\n"


def _headings(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if named := names_in(line):
            yield from named[1]


def _lines(page: Path, text: str, own: set[str]) -> Iterator[str]:
    for line in text.splitlines():
        named = names_in(line)
        yield line
        if named is None:
            continue
        level, names = named
        for name in names:
            package = package_of(page, name)
            if len(names) > 1:
                yield f"\n{'#' * (level + 1)} {name}"
            yield from described(page, package, name, own)


def package_of(page: Path, name: str) -> str:
    """The package whose name a heading of this page is."""
    whole = name.partition(".")[0]
    for package in packages_on(page):
        if whole in names_of(package):
            return package
    raise LookupError(f"{page.name}: no package on this page has a public name {name!r}")


def described(page: Path, package: str, name: str, own: set[str]) -> Iterator[str]:
    """Where it is imported from, its signature, its docstring, its fields and methods."""
    of = found(package, name)
    if "." not in name:
        yield f"\n```py\nfrom {package} import {name}\n```"
    yield f"\n```py\n{signature(of, name)}\n```\n"
    yield linked(docstring(of), page)
    yield from _fields(of, page)
    yield from _methods(of, name, page, own)


def _fields(of: griffe.Object, page: Path) -> Iterator[str]:
    for number, each in enumerate(fields(of)):
        if number == 0:
            yield ""
        told = " ".join(linked(docstring(each), page).split())
        is_default = each.value is not None and "class-attribute" in each.labels
        value = f" = {each.value}" if is_default and len(str(each.value)) < 40 else ""
        yield f"* `{each.name}: {each.annotation}{value}`{': ' + told if told else ''}"


def _methods(of: griffe.Object, name: str, page: Path, own: set[str]) -> Iterator[str]:
    for method, at in methods(of):
        if f"{name}.{method}" not in own:
            yield f"\n```py\n{signature(at, f'{name}.{method}')}\n```\n"
            yield linked(docstring(at), page)


@cache
def _has_heading(page: Path, name: str) -> bool:
    return name in set(_headings(page.read_text()))


@cache
def _pages() -> dict[str, Path]:
    """Where each public class is described; a name of two packages at the first of them."""
    return {name: page_of(package) for package in reversed(all_packages()) for name in names_of(package)}


def linked(text: str, page: Path) -> str:
    """A docstring with links to the classes and pages that it names."""

    def to_class(match: re.Match[str]) -> str:
        at = _pages().get(match[1])
        if at is None or not at.exists() or not _has_heading(at, match[1]):
            return match[0]
        mark = code_of(match[1]) if at == ERRORS else anchor(match[1])
        return f"[`{match[1]}`]({_relative(at, page)}#{mark})"

    def to_page(match: re.Match[str]) -> str:
        return f"[{match[1]}]({_relative(API.parents[1] / f'{match[1]}.md', page)})"

    return _DOCS.sub(to_page, _CODE.sub(to_class, text))


def anchor(name: str) -> str:
    return re.sub(r"[^\w-]", "", name.lower())


def code_of(error: str) -> str:
    """The stable code of an error, which is the anchor of its entry."""
    return str(getattr(errors, error).code)


def _relative(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target, page.parent)).as_posix()
