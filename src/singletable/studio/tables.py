"""Tables that can be read on a phone: each cell says its column, which a style sheet shows where each row is a block.

The roles are stated, too: some browsers forget them with the layout of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TAG: Final = re.compile(r"<(table|thead|tbody|tr|th|td)\b([^>]*)>")
_HEAD: Final = re.compile(r"<t[hd]\b([^>]*)>(.*?)</t[hd]>", re.DOTALL)
_SHORT, _SPAN = re.compile(r'\babbr="([^"]*)"'), re.compile(r'\bcolspan="(\d+)"')
_MARKUP: Final = re.compile(r"<[^>]*>")
_ROLES: Final = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "td": "cell"}


def with_columns(page: str) -> str:
    """A page with `data-column` and a role in each cell of those of its tables that have a head.

    Texts and attributes of the page are escaped. A column is called by its head's `abbr`, or else by its text.
    """
    return "".join(_parts(page))


def _parts(page: str) -> Iterator[str]:
    at = 0
    while (begin := page.find("<table", at)) >= 0:
        end = page.index("</table>", begin)
        yield page[at:begin]
        yield _named(page[begin:end])
        at = end
    yield page[at:]


def _named(table: str) -> str:
    head, has_head, body = table.partition("</thead>")
    if not has_head:
        return table
    columns = [_column(match) for match in _HEAD.finditer(head)]
    at = 0

    def tag(match: re.Match[str]) -> str:
        nonlocal at
        name, given = match[1], match[2]
        if name == "tr":
            at = 0
        if name not in ("th", "td"):
            return f'<{name}{given} role="{_ROLES[name]}">'
        span = _SPAN.search(given)
        column = columns[at] if at < len(columns) and span is None else ""
        at += int(span[1]) if span else 1
        role = "rowheader" if name == "th" else "cell"
        return f'<{name}{given} role="{role}" data-column="{column}">' if column else f'<{name}{given} role="{role}">'

    heads = _TAG.sub(lambda match: f'<{match[1]}{match[2]} role="{_ROLES.get(match[1], "columnheader")}">', head)
    return heads + has_head + _TAG.sub(tag, body)


def _column(head: re.Match[str]) -> str:
    short = _SHORT.search(head[1])
    text = short[1] if short else _MARKUP.sub("", head[2])
    return " ".join(text.split()).replace('"', "&#34;")
