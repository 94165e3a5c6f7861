"""Exports in a bucket, through obstore. An object is there whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from singletable.errors import NotConfigured
from singletable.exchange.claims import BeatClaim
from singletable.exchange.gate import check_path, check_size
from singletable.exchange.store_faults import denied, failed, faults, gone_on_failure, missing
from singletable.object_faults import MISSING_BUCKET, refusal_of

_PART_BYTES: Final = 16 << 20
"""The size of a part of an upload."""


class ObjectStore:
    """A store of obstore, as in `ObjectStore(S3Store("reports", prefix="shop"), "s3://reports/shop")`."""

    def __init__(self, store: Any, url: str) -> None:
        self._obstore = obstore_module()
        self.store, self._url = store, url
        self._drafts: Path | None = None

    def __repr__(self) -> str:
        return f"<ObjectStore {self._url}>"

    @property
    def url(self) -> str:
        return self._url

    def read(self, path: str) -> bytes | None:
        with self._faults("read"):
            try:
                stored = self._obstore.get(self.store, check_path(path, self._url))
                check_size(stored.meta["size"], f"{self._url}/{path}")
                return bytes(stored.bytes())
            except FileNotFoundError:
                return None

    def write(self, path: str, data: bytes) -> None:
        with self._faults("write"):
            self._obstore.put(self.store, path, data)

    def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
        errors = self._obstore.exceptions
        mode: Any = "create"
        with self._faults("write"):
            if before is not None:
                try:
                    stored = self._obstore.get(self.store, path)
                except FileNotFoundError:
                    return False
                if bytes(stored.bytes()) != before:
                    return False
                mode = {"e_tag": stored.meta["e_tag"]}
            try:
                self._obstore.put(self.store, path, data, mode=mode, use_multipart=False)
            except (errors.PreconditionError, errors.AlreadyExistsError):
                return False
            except FileNotFoundError:
                if before is None:  # it is the bucket that is missing
                    raise
                return False
            return True

    def claim(self) -> BeatClaim:
        return BeatClaim(self)

    def draft(self, path: str) -> Path:
        if self._drafts is None:
            self._drafts = Path(tempfile.mkdtemp(prefix="singletable-export-"))
            weakref.finalize(self, shutil.rmtree, self._drafts, ignore_errors=True)  # without a ResourceWarning
        return self._drafts / secrets.token_hex(8)

    def keep(self, path: str, draft: Path) -> int:
        with self._faults("write"), gone_on_failure(draft):
            size = draft.stat().st_size
            check_path(path, self._url)
            self._obstore.put(self.store, path, draft, chunk_size=_PART_BYTES)
        draft.unlink()
        return size

    def fetch(self, path: str) -> Path:
        draft = self.draft(path)
        with self._faults("read"), gone_on_failure(draft):
            try:
                stored = self._obstore.get(self.store, check_path(path, self._url))
            except FileNotFoundError:
                raise missing(self._url, path) from None
            with open(draft, "wb") as file:
                for chunk in stored.stream(min_chunk_size=_PART_BYTES):
                    file.write(chunk)
        return draft

    @contextmanager
    def opened(self, path: str) -> Generator[IO[bytes], None, None]:
        copy = self.fetch(path)
        try:
            with open(copy, "rb") as file:
                yield file
        finally:
            copy.unlink(missing_ok=True)

    def list(self, prefix: str) -> Iterator[str]:
        with self._faults("list"):
            pages = list(self._obstore.list(self.store, prefix.rstrip("/") or None))
        return (found["path"] for page in pages for found in page)

    def delete(self, path: str) -> None:
        with self._faults("delete"):
            try:
                self._obstore.delete(self.store, check_path(path, self._url))
            except FileNotFoundError:
                return

    def delete_drafts(self, folder: str, older_seconds: float) -> None:
        """There are none: drafts lie in a temporary directory of this machine."""

    @contextmanager
    def _faults(self, verb: str) -> Generator[None, None, None]:
        errors = self._obstore.exceptions
        try:
            with faults(self._url, verb):
                try:
                    yield
                except FileNotFoundError as error:  # of an object it is caught before
                    raise failed(self._url, verb, MISSING_BUCKET) from error
        except (errors.PermissionDeniedError, errors.UnauthenticatedError):
            raise denied(self._url, verb) from None
        except errors.BaseError as error:
            raise failed(self._url, verb, refusal_of(error)) from error


def s3_store(bucket: str, prefix: str, url: str) -> ObjectStore:
    obstore_module()
    from obstore.store import S3Store  # noqa: PLC0415 an extra

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    options: dict[str, Any] = {}
    if endpoint:
        options |= {"endpoint": endpoint, "client_options": {"allow_http": endpoint.startswith("http://")}}
    if not os.environ.get("AWS_REGION") and not os.environ.get("AWS_DEFAULT_REGION") and endpoint:
        options["region"] = "us-east-1"
    return ObjectStore(S3Store(bucket, prefix=prefix or None, **options), url)


def obstore_module() -> Any:
    try:
        import obstore  # noqa: PLC0415 an extra
    except ModuleNotFoundError:
        raise NotConfigured(
            "exports to S3 need obstore", hint="Install it: python -m pip install 'singletable[reports]'."
        ) from None
    return obstore
