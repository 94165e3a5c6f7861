"""Parsing complete HTTP answers from a connection's bytes, for both transports."""

from __future__ import annotations

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from singletable.wire.exchange import AnswerLost, HttpResponse

_FIRST_FINAL_STATUS = 200


class AnswerReader:
    """Reads one answer after another from one connection. Interim answers (100) are skipped.

    After an answer, `reusable` says whether the connection may carry another request.
    """

    __slots__ = ("_answer", "_begun", "_chunks", "_head_is_whole", "_headers", "_parser", "_received", "reusable")

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._chunks: list[bytes] = []
        self._answer: HttpResponse | None = None
        self._begun = False
        self._head_is_whole = False
        self._received = 0
        self.reusable = True

    def feed(self, data: bytes | memoryview) -> HttpResponse | None:
        """The answer, of copies, when these bytes complete it. Raises `AnswerLost` for invalid HTTP."""
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as fault:
            self.reusable = False
            # What follows a complete answer doesn't matter.
            if self._answer is None:
                raise AnswerLost(f"the answer is not HTTP: {fault}") from fault
        answer = self._answer
        if answer is None:
            return None
        if self._begun:
            # More than one answer: it is unknown which request the rest belongs to.
            self.reusable = False
        self._answer = None
        self._received = 0
        return answer

    def finish(self) -> HttpResponse:
        """The answer that the end of the connection completes. Raises `AnswerLost` for an incomplete one."""
        self.reusable = False
        bounded = b"content-length" in self._headers or b"transfer-encoding" in self._headers
        if not self._begun or not self._head_is_whole or bounded:
            raise AnswerLost("the connection was closed before the answer was complete")
        self.on_message_complete()
        assert self._answer is not None
        return self._answer

    def on_message_begin(self) -> None:
        self._begun = True
        self._head_is_whole = False
        self._headers = {}
        self._chunks = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self._head_is_whole = True

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)

    def on_message_complete(self) -> None:
        self._begun = False
        status = self._parser.get_status_code()
        if status < _FIRST_FINAL_STATUS:
            return
        if self._answer is not None:
            self.reusable = False
            return
        headers, chunks = self._headers, self._chunks
        checksum = headers.get(b"x-amz-crc32")
        self._answer = HttpResponse(
            status,
            chunks[0] if len(chunks) == 1 else b"".join(chunks),
            None if checksum is None else checksum.decode("latin-1"),
            headers.get(b"x-amzn-requestid", b"").decode("latin-1"),
            self._received,
            headers,
        )
        if not self._parser.should_keep_alive():
            self.reusable = False
