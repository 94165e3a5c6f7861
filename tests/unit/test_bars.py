"""The bars of the benchmarks: which there are, which are told, which are missed."""

from __future__ import annotations

import sys

import pytest

from benchmarks import bars, libraries
from benchmarks.libraries import LIBRARIES, OF_NEWER_PYTHON, compared_with, why_missing
from benchmarks.report import Ratio


def of(ratio: float) -> Ratio:
    return Ratio(ratio, ratio, ratio)


def test_a_peer_is_at_least_and_ours_at_most() -> None:
    found = bars.summary({"boto3": {"get": of(7.9), "put": of(3)}}, {"get": of(1.5), "put": of(1.81)})
    assert {(bar["operation"], bar["peer"]): bar["reached"] for bar in found} == {
        ("get", bars.FLOOR): True,
        ("put", bars.FLOOR): False,
        ("get", "boto3"): False,  # its own bar is higher than that of all
        ("put", "boto3"): True,
    }


def test_the_page_tells_the_nearest_peer_and_all_that_are_missed() -> None:
    ratios = {
        "boto3": {"get": of(20)},
        "aiodynamo": {"get": of(2.9)},
        "dynamoxy": {"get": of(2.5)},
        "x": {"get": of(9)},
    }
    told = bars.page(ratios, {"get": of(1.4)})
    assert "3 of 5 are reached" in told
    assert [name for name in ("boto3", "aiodynamo", "dynamoxy", bars.FLOOR) if f"get, {name}" not in told] == []
    assert "get, x" not in told
    assert told.count("MISSED") == 2
    assert bars.page({}, {}) == "No peer was measured."


def test_a_library_of_a_newer_python_says_why_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "OF_NEWER_PYTHON", dict.fromkeys(OF_NEWER_PYTHON, "no_package_of_this_name"))
    monkeypatch.setattr(libraries, "OLDEST_PYTHON", (99, 0))
    assert why_missing("dynamoxy") == f"dynamoxy needs Python 3.12 or newer, and this is {sys.version.split()[0]}"
    monkeypatch.setattr(libraries, "OLDEST_PYTHON", (3, 0))
    assert why_missing("aws_sdk") == "aws_sdk is not installed: requirements/newer_peers.txt has it"
    assert [name for name in LIBRARIES if name not in OF_NEWER_PYTHON and why_missing(name)] == []
    assert {name for name in OF_NEWER_PYTHON if compared_with(name) != "singletable_async"} == set()
