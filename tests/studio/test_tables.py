"""Each cell of a table says its column: what a phone shows in the place of a head."""

from __future__ import annotations

import re

from singletable.studio.tables import with_columns

HEAD = (
    '<thead><tr><th scope="col">Name</th>'
    '<th scope="col" class="number" abbr="size &#34;b&#34;">Size<i>B</i></th></tr></thead>'
)


def cells(html: str) -> list[tuple[str, str]]:
    """The role and the column of each cell below a head."""
    body = html.partition("</thead>")[2]
    return [
        (re.findall(r'role="(\w+)"', tag)[0], "".join(re.findall(r'data-column="([^"]*)"', tag)))
        for tag in re.findall(r"<t[hd][^>]*>", body)
    ]


def test_each_cell_has_the_name_of_its_column_and_its_role() -> None:
    page = with_columns(
        f'<p>a</p><table class="grid">{HEAD}<tbody><tr class="k1"><th scope="row">x</th><td class="number">1</td></tr>'
        "<tr><th>y</th><td>2</td></tr></tbody></table><p>b</p>"
    )
    named = [("rowheader", "Name"), ("cell", "size &#34;b&#34;")]
    assert cells(page) == named * 2
    assert page.startswith(
        '<p>a</p><table class="grid" role="table"><thead role="rowgroup"><tr role="row"><th scope="col" role'
    )
    assert page.endswith("</table><p>b</p>")
    assert page.count('role="columnheader"') == 2
    assert page.count('role="row"') == 3


def test_a_cell_over_several_columns_has_none_and_those_after_it_have_theirs() -> None:
    head = HEAD.replace("</tr>", '<th scope="col">Last "word"</th></tr>')
    page = with_columns(
        f'<table>{head}<tbody><tr><td colspan="2">both</td><td>z</td><td>too many</td></tr></tbody></table>'
    )
    assert cells(page) == [("cell", ""), ("cell", "Last &#34;word&#34;"), ("cell", "")]


def test_what_is_no_table_with_a_head_stays() -> None:
    page = "<p>a table: &lt;table&gt;&lt;td&gt;</p><table><tr><td>1</td></tr></table>"
    assert with_columns(page) == page


def test_each_table_of_a_page_has_its_own_columns() -> None:
    other = HEAD.replace("Name", "Other")
    row = "<tbody><tr><td>1</td></tr></tbody></table>"
    page = with_columns(f"<table>{HEAD}{row}<table>{other}{row}")
    assert re.findall(r'data-column="(\w+)"', page) == ["Name", "Other"]
