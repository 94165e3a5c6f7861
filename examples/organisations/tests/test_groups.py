from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from organisations.addresses import address, spelling
from organisations.errors import Invalid
from organisations.groups import Group, parse, service_prefix

names = st.text(alphabet=st.sampled_from("ab/%25Fé \n"), min_size=1, max_size=8)
groups = st.builds(Group, names, st.none() | names)


def test_texts_are_those_of_the_published_layout() -> None:
    assert Group("owner").text == "organisationGroup/owner"
    assert Group("pilots", "350fa9b2-337e").text == "serviceGroup/350fa9b2-337e/pilots"


@given(groups)
def test_a_group_reads_back(group: Group) -> None:
    assert parse(group.text) == group


@given(groups, groups)
def test_two_groups_never_share_a_text(one: Group, other: Group) -> None:
    assert (one.text == other.text) == (one == other)


@given(groups, names)
def test_a_services_prefix_begins_its_own_groups_only(group: Group, service_id: str) -> None:
    assert group.text.startswith(service_prefix(service_id)) == (group.service_id == service_id)


def test_slashes_stay_with_what_they_belong_to() -> None:
    assert parse("organisationGroup/ci/cd") == Group("ci/cd")
    assert parse("serviceGroup/a/b/c") == Group("b/c", "a")
    assert Group("c", "a/b").text == "serviceGroup/a%2Fb/c"


@pytest.mark.parametrize(
    "text",
    [
        *("", "/", "organisationGroup", "organisationGroup/", "serviceGroup", "serviceGroup/", "serviceGroup/api"),
        *("serviceGroup/api/", "serviceGroup//x", "serviceGroup/%2f/x", "serviceGroup/%/x", "group/x", "owner"),
    ],
)
def test_what_is_no_group_is_refused_by_name(text: str) -> None:
    with pytest.raises(Invalid, match="is not a group"):
        parse(text)


@pytest.mark.parametrize(("name", "service_id"), [("", None), ("", "api"), ("x", "")])
def test_a_group_has_a_name_and_a_service_an_id(name: str, service_id: str | None) -> None:
    with pytest.raises(Invalid):
        Group(name, service_id)


def test_an_address_is_one_whatever_its_case() -> None:
    assert address("Ada@Example.ORG") == "ada@example.org"
    assert spelling("Ada@Example.ORG") == "Ada@Example.ORG"
    assert spelling("ada@example.org") is None


@pytest.mark.parametrize("text", ["", "a b", "a\n", "a\x00", "x" * 255, "\u212a", "e\u0301", "\ud800", "\u202eada"])
def test_what_could_pass_for_another_address_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        address(text)
