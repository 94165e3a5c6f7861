"""The version: written here alone. The package's metadata and each request's User-Agent have it from here."""

from __future__ import annotations

VERSION = "0.1.0"
