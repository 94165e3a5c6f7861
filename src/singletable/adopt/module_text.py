"""The source of an adopted module: the table and its classes, as a person would declare them."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from singletable.adopt.attributes import AttributeColumn
from singletable.adopt.key_texts import SlotValue
from singletable.adopt.layout import TableLayout
from singletable.adopt.specs import KeySpec, KeyTextSpec, KindSpec
from singletable.tables import Index

UNVERIFIED = 'VERIFIED = ""  # `singletable adopt --verify` writes it: until then every write is refused'
DOUBT = "    # ambiguous: "
"""Before each line of a module that says what else a key may be. Whoever has decided it takes the line away."""
_HEAD = '''"""{what}

Written by `singletable adopt`.
"""

'''
_FROM = {
    "collections.abc": (),
    "datetime": ("date", "datetime"),
    "decimal": ("Decimal",),
    "typing": ("Annotated", "Any"),
    "uuid": ("UUID",),
    "singletable": ("ANY", "Entity", "Index", "Key", "Table", "field"),
    "singletable.tables": ("B", "Local", "N"),
    "singletable.values": (
        *(
            "EpochMilliseconds",
            "EpochSeconds",
            "IsoMilliseconds",
            "PynamoIso",
            "PythonIso",
            "TrueText",
            "ZeroOne",
            "json_text",
        ),
    ),
}
"""The names that a module may import, by their packages."""
_PARAMETERS = {
    **dict.fromkeys(("EpochSeconds", "EpochMilliseconds", "IsoMilliseconds", "PynamoIso", "PythonIso"), "datetime"),
    **dict.fromkeys(("TrueText", "ZeroOne"), "bool"),
}
_TYPES = ("bool", "bytes", "dict", "int", "list", "set", "staticmethod", "str")
"""The names of Python that a module has."""
GLOBALS = frozenset({*(name for names in _FROM.values() for name in names), *_TYPES})
"""The names that mean something in every module: nothing else is called so."""
_TAKEN = GLOBALS | {"becomes", "upcast", "downcast", "key", "of", "table", "type"}


class ModuleText:
    """The text of a module, of a table and its kinds."""

    def __init__(self, layout: TableLayout, named: str | None, separator: str, *, guards: bool = False) -> None:
        self.layout, self.named, self.separator, self.guards = layout, named, separator, guards
        self.variable = _apart(identifier(layout.name), GLOBALS)
        functions = identifiers([f"by {name}" for name in layout.indexes])
        self.functions = {name: functions[f"by {name}"] for name in layout.indexes}
        """The key function of each index."""

    def source(self, kinds: Sequence[KindSpec]) -> str:
        """The whole module."""
        body = "\n\n\n".join([self.table(), *(self.kind(kind) for kind in kinds)])
        what = f"The table {_quoted(self.layout.name)[1:-1]}: {len(kinds)} kinds of items."
        return f"{_HEAD.format(what=what)}{imports(body)}\n\n{UNVERIFIED}\n\n{body}\n"

    def addition(self, kind: KindSpec) -> str:
        """A kind more, for the module of others."""
        body = self.kind(kind)
        return f"{imports(body)}\n\n{body}\n"

    def table(self) -> str:
        """The declaration of the table."""
        layout = self.layout
        key = [self._named(name) for name in layout.key if name]
        options = {
            "key": f"({', '.join(key)})" if len(key) == 2 else key[0],
            "indexes": self._indexes() if layout.indexes else "",
            "separator": repr(self.separator) if self.separator != "#" else "",
            "type_attribute": _quoted(self.named) if self.named else "",
            "ttl_attribute": _quoted(layout.ttl) if layout.ttl else "",
            "overlap": '"guard"' if self.guards else "",
            "foreign": "True",
            "ignores": f"[{', '.join(map(_quoted, sorted(layout.ignored)))}]" if layout.ignored else "",
            "read_only": "not VERIFIED",
        }
        lines = [f"    {name}={text},\n" for name, text in options.items() if text]
        return f"{self.variable} = Table(\n    {_quoted(layout.name)},\n{''.join(lines)})"

    def kind(self, kind: KindSpec) -> str:
        """The class of a kind."""
        taken = {self.variable, *self.functions.values()}
        names = identifiers([column.stored for column in kind.columns], taken)
        options = "".join(
            [
                f", stamp={{{', '.join(f'{_quoted(n)}: {_literal(v)}' for n, v in kind.stamps.items())}}}"
                if kind.stamps
                else "",
                ", ambiguous=True" if kind.is_ambiguous else "",
            ]
        )
        lines = [f"class {kind.title}(Entity, table={self.variable}, type={_quoted(kind.type)}{options}):"]
        lines += [f"    {_attribute(column, names[column.stored])}" for column in kind.columns]
        for key in kind.keys:
            lines += ["", *self._key(kind, key, names)]
        return "\n".join(lines)

    def _key(self, kind: KindSpec, key: KeySpec, names: Mapping[str, str]) -> Iterator[str]:
        yield from (_visible(f"{DOUBT}{text.attribute}: {doubt}") for text in key.texts for doubt in text.doubts)
        decorator = "key" if key.index is None else f"index({_quoted(key.index)})"
        called = "of" if key.index is None else self.functions[key.index]
        columns = {column.stored: column for column in kind.columns}
        texts = [_text(text, columns, names) for text in key.texts]
        yield f"    @{self.variable}.{decorator}"
        yield "    @staticmethod"
        yield f"    def {called}({_parameters(key, columns, names)}) -> {'Key' if len(texts) == 2 else 'str'}:"
        yield f"        return {', '.join(texts)}"

    def _indexes(self) -> str:
        lines = [f"        {_quoted(name)}: {self._index(index)},\n" for name, index in self.layout.indexes.items()]
        return f"{{\n{''.join(lines)}    }}"

    def _index(self, index: Index) -> str:
        attributes = (index.sort,) if index.is_local else (index.partition, index.sort)
        names = [self._named(name) for name in attributes if name]
        if index.projection != "all":
            held = '"keys"' if index.projection == "keys" else f"({', '.join(map(_quoted, index.projection))},)"
            names.append(f"projection={held}")
        return f"{'Local' if index.is_local else 'Index'}({', '.join(names)})"

    def _named(self, attribute: str) -> str:
        kind = self.layout.kinds.get(attribute, "S")
        return _quoted(attribute) if kind == "S" else f"{kind}({_quoted(attribute)})"


def imports(body: str) -> str:
    """The imports that a text needs, in order."""
    groups: list[str] = []
    for package, names in _FROM.items():
        used = [name for name in names if re.search(rf"\b{name}\b", _code_of(body))]
        if used:
            own = package.startswith("singletable")
            gap = "\n" if own and groups and not groups[-1].lstrip().startswith("from singletable") else ""
            groups.append(f"{gap}from {package} import {', '.join(used)}")
    return "\n".join(groups)


def _code_of(body: str) -> str:
    """A module's text without what stands in quotes and comments."""
    return re.sub(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#.*', "", body)


def identifiers(stored: Sequence[str], taken: Collection[str] = ()) -> Mapping[str, str]:
    """A name in Python for each stored one, and none that is taken."""
    names: dict[str, str] = {}
    used = {*_TAKEN, *taken}
    for name in stored:
        names[name] = _apart(identifier(name), used)
        used.add(names[name])
    return names


def _apart(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def identifier(name: str) -> str:
    """A stored name as Python writes names: `orderId` as `order_id`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    plain = re.sub(r"\W+", "_", words, flags=re.ASCII).strip("_").lower()
    plain = f"n{plain}" if not plain or plain[0].isdigit() else plain
    return f"{plain}_" if keyword.iskeyword(plain) or keyword.issoftkeyword(plain) else plain


def _attribute(column: AttributeColumn, name: str) -> str:
    options: list[str] = []
    if column.role == "in_key":
        options.append("in_key=True")
    elif column.role == "expires":
        options.append("expires=True")
    elif name != column.stored:
        options.append(f"name={_quoted(column.stored)}")
    annotation = column.annotation
    if not column.optional:
        return f"{name}: {annotation}" + (f" = field({', '.join(options)})" if options else "")
    if annotation.startswith("set["):
        default = [f"default_factory={annotation}"]
    else:
        annotation, default = f"{annotation} | None", ["default=None"]
    if not options and default == ["default=None"]:
        return f"{name}: {annotation} = None"
    return f"{name}: {annotation} = field({', '.join([*options, *default])})"


def _parameters(key: KeySpec, columns: Mapping[str, AttributeColumn], names: Mapping[str, str]) -> str:
    first = {place.name for place in key.texts[0].places}
    some = [
        f"{names[name]}: {_parameter(columns[name].annotation)}" + ("" if name in first else " = ANY")
        for name in key.names
    ]
    return ", ".join(some)


def _parameter(annotation: str) -> str:
    return _PARAMETERS.get(annotation, annotation)


def _text(text: KeyTextSpec, columns: Mapping[str, AttributeColumn], names: Mapping[str, str]) -> str:
    """A key's text as an f-string."""
    shown = ""
    for piece in text.pieces:
        if isinstance(piece, SlotValue):
            format = (
                "!r"
                if columns[piece.name].annotation == "bytes"
                else f":{piece.form.format}"
                if piece.form.format
                else ""
            )
            shown += f"{{{names[piece.name]}{format}}}"
        else:
            shown += _quoted(piece)[1:-1].replace("{", "{{").replace("}", "}}")
    return f'f"{shown}"' if text.places else f'"{shown}"'.replace("{{", "{").replace("}}", "}")


def _quoted(text: str) -> str:
    """A text as Python writes it, in double quotes."""
    return _visible(json.dumps(text, ensure_ascii=False))


def _visible(text: str) -> str:
    """A text of the module without characters that end a line, or that are not seen: a stored name may have any."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _literal(value: str | int) -> str:
    return _quoted(value) if isinstance(value, str) else str(value)
