"""Charts: hostile labels are shown as text, and the numbers are in the picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from singletable import InvalidRequest
from singletable.reports.charts import Chart, Series, page_of, svg_of, table_of
from singletable.reports.terminal_charts import drawing_of

HOSTILE = "<script>alert(1)</script>\x1b[31m\x00\u202e"


def bars(*values: float, form: str = "bars") -> Chart:
    labels = (HOSTILE, *(f"label {n}" for n in range(1, len(values))))
    return Chart(HOSTILE, labels, (Series("goals & more", values),), form)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["bars", "lines"])
def test_svg_is_well_formed_and_has_no_script(form: str) -> None:
    text = svg_of(bars(1, 20.5, -3, 0, form=form))
    found = ET.fromstring(text)
    kinds = {each.tag.rpartition("}")[2] for each in found.iter()}
    assert kinds <= {"svg", "title", "text", "rect", "line", "polyline"}
    assert found.find("{http://www.w3.org/2000/svg}title") is not None
    assert "<script" not in text
    assert "\x1b" not in text


def test_a_bar_is_as_long_as_its_number() -> None:
    rows = ET.fromstring(svg_of(bars(10, 40, 0))).findall("{http://www.w3.org/2000/svg}rect")
    widths = [float(row.attrib["width"]) for row in rows]
    assert widths[1] == pytest.approx(4 * widths[0], rel=0.01)
    assert widths[2] == 0


def test_a_page_allows_no_script() -> None:
    page = page_of(HOSTILE, [table_of(("a", HOSTILE), [(1234, HOSTILE), (0.5, None)])])
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert '<td class="number" role="cell" data-column="a">1,234</td>' in page
    assert 'class="many"' not in page
    assert 'class="many"' in table_of("abcd", [(1, 2, 3, 4)])


@pytest.mark.parametrize("form", ["bars", "lines"])
def test_a_terminal_obeys_no_label(form: str) -> None:
    text = drawing_of(bars(40, 0, 5, 20, form=form), 80, coloured=False)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_longest_bar_of_a_terminal_is_the_largest_number() -> None:
    lines = drawing_of(bars(40, 0, 5, 20), 80, coloured=False).splitlines()
    lengths = {name: max(line.count("█") for line in lines if name in line) for name in ("40┤", "0┤", "5┤", "20┤")}
    assert lengths["40┤"] > 1.8 * lengths["20┤"] > 3 * lengths["5┤"] > 0


def test_what_can_not_be_drawn_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="1 numbers for 2 labels"):
        Chart("x", ("a", "b"), (Series("n", (1.0,)),))
    with pytest.raises(InvalidRequest, match="can't be drawn"):
        bars(float("nan"))
    with pytest.raises(InvalidRequest, match="rows to draw"):
        Chart("x", (), (Series("n", ()),))
