"""The names that tables have in the account: given when a program connects, or by the environment; put in where a
request is made.

A table is declared once, by the name that the program knows. A stage, a tenant or a restore has it under another name,
and another account's table has an ARN. An operation holds the declared name, its request the name in the account.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from singletable.errors import Conflict, InvalidRequest, Newer, NotConfigured, OutcomeUnknown, SingletableError

LEASES: Final = "-leases"
"""The end of the name of a table of leases, which lies beside the table of its name."""
NAMES_VARIABLE: Final = "SINGLETABLE_TABLE_NAMES"
"""Single names, separated by commas: `orders=orders-7,people=people-2`."""
PREFIX_VARIABLE: Final = "SINGLETABLE_TABLE_PREFIX"
_MOST_CHARACTERS = 255
_NAME = r"[a-zA-Z0-9_.-]{3,255}"
_PREFIX = r"[a-zA-Z0-9_.-]*"
_ARN = rf"(?a)arn:[\w-]+:dynamodb:([\w-]+):\d{{12}}:table/({_NAME})"
_MET = (Conflict, OutcomeUnknown, Newer)
"""The errors of which a request is always the reason."""
_HINT = "A table's name has 3 to 255 of letters, digits, '_', '-' and '.'; that of another account is its ARN."


class TableNames(dict[str, str]):
    """The names in the account by the declared ones. One that is looked up for the first time is added.

    A table of leases goes with its table. Every other name gets the prefix, unless it begins with it. InvalidRequest
    for what is not a table's name, for one that is too long, and for two tables under one name.
    """

    def __init__(self, called: Mapping[str, str] = MappingProxyType({}), prefix: str = "") -> None:
        super().__init__()
        self.called, self.prefix = dict(called), prefix
        self._declared: dict[str, str] = {}
        if prefix and not re.fullmatch(_PREFIX, prefix):
            raise InvalidRequest(f"{prefix!r} can't begin a table's name", operation="connect", hint=_HINT)
        for name in called:
            self._add(name)

    @classmethod
    def given(cls, tables: Mapping[str, str] | None, prefix: str, environ: Mapping[str, str]) -> TableNames:
        """The names that a program gives, and those of the environment's variables where it gives none.

        Raises NotConfigured, which names the variables, for what they can't say.
        """
        if tables is not None or prefix:
            return cls(tables or {}, prefix)
        texts = [text.strip() for text in environ.get(NAMES_VARIABLE, "").split(",")]
        try:
            return cls(_once(map(named_table, filter(None, texts))), environ.get(PREFIX_VARIABLE, ""))
        except InvalidRequest as error:
            variables = " and ".join(name for name in (NAMES_VARIABLE, PREFIX_VARIABLE) if environ.get(name))
            raise NotConfigured(
                f"{variables}: {error.what}", table=error.table, operation="connect", hint=error.hint
            ) from None

    def __missing__(self, name: str) -> str:
        return self._add(name)

    def with_name(self, name: str, there: str) -> TableNames:
        """The same, but for one table, which is called `there`."""
        return TableNames({**self.called, name: self._prefixed(there)}, self.prefix)

    def declared(self, there: str) -> str:
        """The declared name of what is called so in the account; the name itself where no table has it."""
        for name in self.called:
            if name_in(self[name]) == there:
                return name
        return self._declared.get(there) or (there.removeprefix(self.prefix) if self.prefix else there)

    def shown(self, name: str) -> str:
        """A declared name, with the one in the account where that differs: `orders (prod-orders)`."""
        there = self[name]
        return name if there == name else f"{name} ({there})"

    def tell(self, error: SingletableError) -> None:
        """Add the names in the account to an error, and to those of a transaction's operations: once, by the port that
        is nearest to where it was raised. A conflict that a flow made of a refused request gets the place of that."""
        if error.table and not error.called:
            error.called = self.of_all(error.table)
        if isinstance(error, _MET) and not error.endpoint:
            _add_place(error, error.__context__)
        for failure in getattr(error, "failures", ()):
            _add_place(failure.error, error)
            self.tell(failure.error)

    def of_all(self, tables: str) -> str:
        """The names in the account of declared ones that are joined by commas."""
        return ", ".join(map(self._told, tables.split(", "))) if tables else ""

    def _told(self, name: str) -> str:
        """The name in the account, which a name may be already. None is added."""
        return self.get(name) or (name if name in self._declared else self._in_account(name))

    @property
    def arns(self) -> dict[str, str]:
        """The regions of the tables that have ARNs, by their declared names."""
        return {name: match[1] for name, there in self.called.items() if (match := re.fullmatch(_ARN, there))}

    @property
    def text(self) -> str:
        """The difference from the declarations, for the identity of a database: empty where nothing does."""
        named = [f"{name}={there}" for name, there in sorted(self.called.items()) if name != there]
        return " ".join([f"{self.prefix}*"] * bool(self.prefix) + named)

    @property
    def options(self) -> tuple[str, ...]:
        """The same as options of the program `singletable`."""
        given = [(f"--table-name={name}={there}") for name, there in sorted(self.called.items())]
        return (*given, f"--table-prefix={self.prefix}") if self.prefix else tuple(given)

    @property
    def variables(self) -> dict[str, str]:
        """The same as variables of the environment, which `connect` reads: {} where no name was given."""
        named = ",".join(f"{name}={there}" for name, there in sorted(self.called.items()))
        return {name: text for name, text in ((NAMES_VARIABLE, named), (PREFIX_VARIABLE, self.prefix)) if text}

    def _add(self, name: str) -> str:
        there = self._in_account(name)
        if len(name_in(there)) > _MOST_CHARACTERS:
            raise _too_long(name, there)
        other = self._declared.setdefault(there, name)
        if other != name:
            raise InvalidRequest(
                f"two tables would be one, {there}: {other!r} and {name!r}",
                operation="connect",
                hint=f"Give {name!r} a name of its own in tables=, or ask for {other!r} where you mean that table.",
            )
        self[name] = there
        return there

    def _in_account(self, name: str) -> str:
        there = self.called.get(name)
        if there is not None:
            if not re.fullmatch(_NAME, there) and not re.fullmatch(_ARN, there):
                raise InvalidRequest(
                    f"{there!r} is not the name or the ARN of a table", table=name, operation="connect", hint=_HINT
                )
            return there
        owner = name.removesuffix(LEASES)
        return self.called[owner] + LEASES if owner in self.called else self._prefixed(name)

    def _prefixed(self, name: str) -> str:
        is_whole = name.startswith((self.prefix, "arn:", "."))  # "." begins what engines keep for themselves
        return name if is_whole else self.prefix + name


def named_table(text: str) -> tuple[str, str]:
    """The declared name and the one in the account, as `orders=orders-7` says them. InvalidRequest for other texts."""
    name, _, there = (part.strip() for part in text.partition("="))
    if not (name and there):
        raise InvalidRequest(f"{text} is not NAME=THERE, as orders=orders-7", operation="connect", hint=_HINT)
    return name, there


def _once(names: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The names by the declared ones. InvalidRequest for a table that has two."""
    called: dict[str, str] = {}
    for name, there in names:
        if called.setdefault(name, there) != there:
            raise InvalidRequest(
                f"{name!r} is given twice, as {called[name]!r} and as {there!r}",
                operation="connect",
                hint="Give each table one name.",
            )
    return called


def name_in(there: str) -> str:
    """The table's own name in an ARN; any other name as it is."""
    return there.rpartition(":table/")[2]


def _add_place(error: SingletableError, met: BaseException | None) -> None:
    """Add the region, endpoint and request id of the error that this one was made of, or that it is a part of."""
    if isinstance(met, SingletableError):
        error.region, error.endpoint, error.request_id = met.region, met.endpoint, met.request_id


def _too_long(name: str, there: str) -> InvalidRequest:
    error = InvalidRequest(
        f"the table's name in the account has {len(name_in(there))} characters, more than {_MOST_CHARACTERS}",
        table=name,
        operation="connect",
        hint=f"Shorten table_prefix, or the name that tables= gives; that of its table of leases ends with {LEASES!r}.",
    )
    error.called = there
    return error


DECLARED: Final = TableNames()
"""Every table has its declared name."""
