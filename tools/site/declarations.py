"""What the source says of a public name, as Markdown: signature, docstring, members. Read by griffe; nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import griffe

from tools.distributions import SOURCES
from tools.site.inner import is_inner
from tools.site.public import GROUND, PACKAGES, names_of

WIDTH = 100


@cache
def _source(distribution: str) -> griffe.Module:
    loaded = griffe.load(distribution, search_paths=[*SOURCES], resolve_aliases=True, resolve_external=False)
    assert isinstance(loaded, griffe.Module)
    return loaded


def found(package: str, name: str) -> griffe.Object:
    """The object behind a name that may be imported from elsewhere, or be a member as in `Database.get`."""
    distribution, _, inner = package.partition(".")
    path = ".".join(part for part in (inner, name) if part)
    try:
        at = _source(distribution)[path]
        return at.final_target if isinstance(at, griffe.Alias) else at
    except KeyError:
        return _inherited(package, name)


def _inherited(package: str, name: str) -> griffe.Object:
    owner, _, member = name.rpartition(".")
    kind = found(package, owner)
    assert isinstance(kind, griffe.Class)
    at = kind.all_members[member]
    return at.final_target if isinstance(at, griffe.Alias) else at


PROTOCOLS = {
    **{f"events.{name}": "Event" for name in GROUND["singletable.events"] if name not in ("Event", "Listener")},
    "documents.LocalBlobs": "BlobStore",
    "documents.ObjectBlobs": "BlobStore",
    "exchange.DirectoryStore": "Store",
    "exchange.ObjectStore": "Store",
    "wire.CachedCredentials": "CredentialSource",
    "wire.StaticCredentials": "CredentialSource",
}
"""Classes whose methods are told of at the protocol that they are of."""


def docstring(of: griffe.Object) -> str:
    """What it says of itself; of a member without a word, what its protocol says of one of that name."""
    if of.docstring or not isinstance(of.parent, griffe.Class):
        return of.docstring.value.strip() if of.docstring else ""
    package = of.parent.path.split(".")[1]
    protocol = PROTOCOLS.get(f"{package}.{of.parent.name}")
    known = found(f"singletable.{package}", protocol).all_members if protocol else {}
    return docstring(found(f"singletable.{package}", f"{protocol}.{of.name}")) if of.name in known else ""


def signature(of: griffe.Object, name: str) -> str:
    """As one would write it: a line, or one line a parameter."""
    if isinstance(of, griffe.Function):
        forms = of.overloads or [of]
        return "\n".join(_call(form, name) for form in forms)
    if isinstance(of, griffe.Class):
        return _class(of, name)
    if isinstance(of, griffe.TypeAlias):
        return f"{name} = {of.value}"
    if isinstance(of, griffe.Attribute):
        kind = f": {of.annotation}" if of.annotation is not None else ""
        value = f" = {of.value}" if of.value is not None and len(str(of.value)) < WIDTH else ""
        return f"{name}{kind}{value}"
    return name


def _call(of: griffe.Function, name: str) -> str:
    parts = list(_parameters(of.parameters, has_receiver=of.parent is not None and of.parent.is_class))
    returns = f" -> {of.returns}" if of.returns is not None else ""
    start = ("await " if "async" in of.labels else "") + name
    one_line = f"{start}({', '.join(parts)}){returns}"
    if len(one_line) <= WIDTH:
        return one_line
    return "\n".join([f"{start}(", *(f"    {part}," for part in parts), f"){returns}"])


def _parameters(parameters: griffe.Parameters, *, has_receiver: bool) -> Iterator[str]:
    before: griffe.ParameterKind | None = None
    for number, each in enumerate(parameters):
        if has_receiver and number == 0 and each.name in ("self", "cls", "mcls"):
            continue
        kind = each.kind
        if before is griffe.ParameterKind.positional_only and kind is not before:
            yield "/"
        if kind is griffe.ParameterKind.keyword_only and before not in (kind, griffe.ParameterKind.var_positional):
            yield "*"
        before = kind
        yield _parameter(each)


def _parameter(each: griffe.Parameter) -> str:
    assert each.kind is not None
    star = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(each.kind, "")
    kind = f": {each.annotation}" if each.annotation is not None else ""
    default = f" = {each.default}" if each.default is not None and not star else ""
    return f"{star}{each.name}{kind}{default}"


def _class(of: griffe.Class, name: str) -> str:
    bases = f"({', '.join(str(base) for base in of.bases)})" if of.bases else ""
    made = of.members.get("__init__")
    lines = [f"class {name}{bases}"]
    if isinstance(made, griffe.Function) and not _is_generated(made, of):
        lines.append(_call(made, name).removesuffix(" -> None"))
    return "\n".join(lines)


def _is_generated(made: griffe.Function, of: griffe.Class) -> bool:
    """A dataclass's own: its fields are listed instead."""
    return made.lineno is None or made.lineno == of.lineno


def fields(of: griffe.Object) -> Iterator[griffe.Attribute]:
    """The public attributes that a class declares, in order, less those that are the library's own."""
    if isinstance(of, griffe.Class):
        declared = (each for each in of.members.values() if isinstance(each, griffe.Attribute) and each.annotation)
        for each in declared:
            if not each.name.startswith("_") and "property" not in each.labels and not is_inner(each):
                yield each


def methods(of: griffe.Object) -> Iterator[tuple[str, griffe.Object]]:
    """The public methods and properties of a class, with those of its bases in the library, less the library's own."""
    if isinstance(of, griffe.Class):
        for name, member in of.all_members.items():
            at = member.final_target if isinstance(member, griffe.Alias) else member
            is_property = isinstance(at, griffe.Attribute) and "property" in at.labels
            if not name.startswith("_") and (isinstance(at, griffe.Function) or is_property) and not is_inner(at):
                yield name, at


def public_names() -> Iterator[tuple[str, str]]:
    for package in (*PACKAGES, *GROUND):
        for name in names_of(package):
            yield package, name


def first_sentence(text: str) -> str:
    """Of the first paragraph, up to its full stop."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", paragraph, maxsplit=1)[0].rstrip(":")
