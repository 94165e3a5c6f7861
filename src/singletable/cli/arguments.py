"""Parsing the words of a command as the arguments of an access pattern, by the types that its keys declare.

ada@example.org   name=value   created_at=before:2026-01-01T00:00:00Z   number=between:1,9   name=starting-with:A
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from singletable.errors import InvalidValue
from singletable.foundation import ANY, Slot
from singletable.pattern_calls import RANGES, Pattern, argument_of

_NEGATIVE = re.compile(r"-\.?[0-9].*")
_NAMED = re.compile(r"([a-z_][a-z0-9_]*)=(.*)", re.DOTALL | re.IGNORECASE)
_HOW = re.compile(r"([a-z]+(?:[-_][a-z]+)?):(.*)", re.DOTALL)


class PatternCommand(click.Command):
    """A command with the arguments of an access pattern as `words`: one may be a negative number, which is not an
    option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.ignore_unknown_options = True
        before = args[: args.index("--")] if "--" in args else [*args]
        rest = super().parse_args(ctx, args)
        words: tuple[str, ...] = ctx.params.get("words") or ()
        for word in words:
            if word.startswith("-") and word in before and not _NEGATIVE.fullmatch(word):
                options = [str(name) for option in self.get_params(ctx) for name in option.opts]
                close: list[str] = difflib.get_close_matches(word.partition("=")[0], options)
                message = f"No such option: {word}. A value that begins with '-' is written after --, or as NAME=VALUE."
                raise click.NoSuchOption(word, message, close, ctx)
        return rest


def arguments_of(pattern: Pattern, words: Sequence[str]) -> dict[str, Any]:
    """The arguments by name. A UsageError says which word is wrong, and how to write it."""
    texts = _by_name(pattern, words)
    slots, fixed = pattern.slots, pattern.captured.fixed
    arguments = {name: _argument(slots[name], text, name not in fixed) for name, text in texts.items()}
    for name, parameter in pattern.captured.parameters.items():
        if name not in arguments and parameter.default is not ANY:
            raise click.UsageError(f"{usage(pattern)}: {name} is missing.")
    return arguments


def usage(pattern: Pattern) -> str:
    """`User.by_phone PHONE [AGE]`."""
    parameters = pattern.captured.parameters.items()
    shown = (n.upper() if p.default is not ANY else f"[{n.upper()}]" for n, p in parameters)
    return " ".join([pattern.shown, *shown])


def _by_name(pattern: Pattern, words: Sequence[str]) -> dict[str, str]:
    """Words without a name fill the parameters in their order."""
    names = list(pattern.captured.parameters)
    given: dict[str, str] = {}
    unnamed: list[str] = []
    for word in words:
        match = _NAMED.fullmatch(word)
        if match is None:
            unnamed.append(word)
        elif match[1] not in names:
            raise click.UsageError(
                f"{usage(pattern)}: no parameter is named {match[1]!r}. "
                f"For a value that contains '=', name its parameter: {names[0]}={word}"
            )
        elif match[1] in given:
            raise click.UsageError(f"{usage(pattern)}: {match[1]} is given twice.")
        else:
            given[match[1]] = match[2]
    left = [name for name in names if name not in given]
    if len(unnamed) > len(left):
        raise click.UsageError(f"{usage(pattern)}: {unnamed[len(left)]!r} is an unexpected argument.")
    return given | dict(zip(left, unnamed, strict=False))


def _argument(slot: Slot, text: str, in_sort_key: bool) -> Any:
    match = _HOW.fullmatch(text)
    how = match[1].replace("_", "-") if match else ""
    if match is None or not in_sort_key or how not in (*RANGES, "between", "exactly"):
        return _read(slot, text, "exactly", [text])
    if how != "between":
        return _read(slot, text, how, [match[2]])
    low, comma, high = match[2].partition(",")
    if not comma or "," in high:
        _wrong(slot, text, "between takes two values, as in between:A,B")
    return _read(slot, text, how, [low, high])


def _read(slot: Slot, text: str, how: str, texts: Sequence[str]) -> Any:
    try:
        return argument_of(slot, how, texts)
    except InvalidValue as error:
        _wrong(slot, text, error.what)


def _wrong(slot: Slot, text: str, wanted: str) -> NoReturn:
    raise click.UsageError(f"{slot.name}={text!r}: {wanted}.")
