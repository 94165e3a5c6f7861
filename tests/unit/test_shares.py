"""What callgrind counted, by function and by kind."""

from __future__ import annotations

import pytest

from benchmarks import pages, shares

PROFILE = """\
# callgrind format
positions: line
events: Ir
summary: 1234

ob=(1) /usr/lib/libpython3.13.so.1.0
fl=(1) ???
fn=(10) _PyEval_EvalFrameDefault'2
0 100
cob=(2) /usr/lib/libcrypto.so.3
cfi=(2) ???
cfn=(20) 0x0000000000029ad80
calls=3 0
0 900
+0 5

fn=(11) _PyObject_Free
* 7

ob=(2)
fn=(20)
0 900

ob=(3) /env/lib/python3.13/site-packages/msgspec/_core.so
fn=(30) json_encode_str
16 40

ob=(1)
fn=(10)
0 20
"""


def test_what_a_function_calls_is_not_its_own() -> None:
    """A name stands in full once, also where it is called first; costs of one function add up."""
    found = shares.own_instructions(PROFILE.splitlines())
    assert found == {
        "/usr/lib/libpython3.13.so.1.0 _PyEval_EvalFrameDefault'2": 125,
        "/usr/lib/libpython3.13.so.1.0 _PyObject_Free": 7,
        "/usr/lib/libcrypto.so.3 0x0000000000029ad80": 900,
        "/env/lib/python3.13/site-packages/msgspec/_core.so json_encode_str": 40,
    }
    kinds = shares.by_kind(found)
    assert {kind: count for kind, count in kinds.items() if count} == {
        "SHA-256 and HMAC": 900,
        "JSON and structs: msgspec": 40,
        "bytecode: frames and calls": 125,
        "memory and references": 7,
    }
    assert "84%" in shares.drawn({"put": kinds})


def test_another_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a name of a callgrind profile"):
        shares.own_instructions(["fn=main"])


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("libpython.so dict_dealloc'2", "memory and references"),
        ("libpython.so _Py_dict_lookup", "dicts and attributes"),
        ("libpython.so sre_ucs1_match", "texts, bytes, numbers, regular expressions"),
        ("/x/httptools/parser.so llhttp__internal__run", "the answer's head: httptools"),
        ("libpython.so PyErr_CheckSignals", "other"),
    ],
)
def test_a_function_has_a_kind(function: str, kind: str) -> None:
    assert shares.by_kind({function: 3})[kind] == 3


def test_pages_of_results_are_in_the_navigation() -> None:
    site = (pages.ROOT / pages.SITE).read_text()
    assert pages.site_with_results(site) == site, "python -m benchmarks.pages --write"
    without = site.replace(', "benchmarks/results/shares.md"', "")
    assert without != site
    assert '"benchmarks/results/shares.md"] }' in pages.site_with_results(without)
