"""An error says which place was asked, and which request it was."""

from __future__ import annotations

import pytest

from singletable.errors import NotConfigured, SingletableError, Throttled
from singletable.flow import drive
from singletable.operations import RAW, GetItem
from singletable.operations.answers import named
from singletable.wire import BlockingPort, Fault, PortOptions, RetryPolicy, StaticCredentials, endpoint_for
from singletable.wire.credentials import Credentials
from tests.fakes.scripted_server import ScriptedServer, fails

REGION = "eu-west-3"


def error_of(code: str) -> SingletableError:
    with ScriptedServer() as server:
        server.always(fails(code))
        endpoint = endpoint_for(server.url, environ={}, region=REGION)
        options = PortOptions(policy=RetryPolicy(attempts=1))
        with BlockingPort(endpoint, StaticCredentials(Credentials("a", "b")), options) as port:
            with pytest.raises(SingletableError) as caught:
                drive(port.send(GetItem("orders", {"pk": {"S": "order#1"}}, RAW)))
            assert (caught.value.region, caught.value.endpoint) == (REGION, server.url)
            assert caught.value.request_id == "REQUEST-ID"
    return caught.value


def test_a_table_that_is_missing_is_missing_in_a_region() -> None:
    error = error_of("ResourceNotFoundException")
    assert isinstance(error, NotConfigured)
    assert f"region {REGION}, endpoint {error.endpoint}" in str(error)
    assert "Ask the region and account that have it" in error.hint


def test_an_error_of_retries_has_its_place() -> None:
    assert isinstance(error_of("ThrottlingException"), Throttled)


def test_an_index_that_is_missing_is_added_by_apply() -> None:
    error = named(Fault("ValidationException", "The table does not have the specified index: gsi1"), "Query", "orders")
    assert isinstance(error, NotConfigured)
    assert str(error).startswith(
        "the table has no index gsi1 (operation Query, table orders). Add it: `singletable plan`"
    )
