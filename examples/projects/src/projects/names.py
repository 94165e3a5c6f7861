"""Item ids for paths: git's names are bytes, an item's id is text.

A path stands as it is wherever people would read it as that: UTF-8, composed (NFC), nothing invisible. All else, and
`%` itself, is written as `%` and two hex digits a byte, so every path has one id and every id says its path. What is
visible is settled by Unicode 3.2, which Python keeps for such uses: a later one would give old paths new ids.

    b"src/caf\\xc3\\xa9.py"  <->  "src/café.py"
    b"100%"                 <->  "100%25"
    b"old/na\\xefve.txt"     <->  "old/na%EFve.txt"
"""

from __future__ import annotations

from unicodedata import ucd_3_2_0 as unicode
from urllib.parse import unquote_to_bytes

from examples_shared.errors import Invalid

INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


def item_id(path: bytes) -> str:
    """The id of the item that holds the file at `path`."""
    id = "".join(map(_escaped, path.decode("utf-8", "surrogateescape")))
    if unicode.is_normalized("NFC", id):
        return id
    return "".join(c if c.isascii() else _hex(c) for c in id)


def path_of(id: str) -> bytes:
    """The path that `item_id` was given; Invalid for an id that it never makes."""
    path = unquote_to_bytes(id)
    if item_id(path) != id:
        raise Invalid(f"item {id!r} is not a file: its id is not the escaped form of a path")
    return path


def _escaped(character: str) -> str:
    stands = character != "%" and unicode.category(character) not in INVISIBLE
    return character if stands else _hex(character)


def _hex(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
