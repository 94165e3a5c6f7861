"""The answer of a Lambda function behind a queue or a stream, for ReportBatchItemFailures."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

LambdaAnswer = dict[str, list[dict[str, str]]]
"""The ids of what failed."""


class LambdaHandler(Protocol):
    """A handler that returns its answer."""

    def __call__(self, event: Mapping[str, Any], context: Any = None) -> LambdaAnswer: ...


class AsyncLambdaHandler(Protocol):
    """A handler whose answer is awaited."""

    def __call__(self, event: Mapping[str, Any], context: Any = None) -> Coroutine[Any, Any, LambdaAnswer]: ...
