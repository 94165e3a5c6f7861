"""Histories with what real ones hold, and with what only somebody with bad intent would commit."""

from __future__ import annotations

from examples.projects.tests.gitted import EXECUTABLE, FAR_COMMIT, REGULAR, SUBMODULE, SYMLINK, Step

ODD_NAMES = (
    b"plain.txt",
    b" leading and trailing ",
    b"tab\tnew\nline",
    b'quo"te\\back',
    b"100%25",
    b"%",
    b"%2F",
    "caf\u00e9.txt".encode(),
    "cafe\u0301.txt".encode(),
    b"latin-\xe9.txt",
    b"\xff\xfe",
    "\u202egnp.exe".encode(),
    "\u2028".encode(),
    "emoji-\U0001f600".encode(),
    b"-rf",
    b"#hash$",
    b":(glob)**",
    b"a" * 200 + b"/" + b"b" * 200,
)

EVERYTHING = (
    Step({b"README": (REGULAR, b"hello\n"), b"run.sh": (REGULAR, b"#!/bin/sh\n")}, message=b"first\n"),
    Step(message=b"nothing changed\n"),
    Step({b"run.sh": (EXECUTABLE, b"#!/bin/sh\n")}, message=b"a mode alone\n"),
    Step({name: (REGULAR, name) for name in ODD_NAMES}, message=b"odd names\n"),
    Step({b"empty": (REGULAR, b""), b"binary": (REGULAR, bytes(range(256)) * 3), b"nul": (REGULAR, b"text\0text")}),
    Step({b"crlf": (REGULAR, b"one\r\ntwo\r"), b"bom": (REGULAR, b"\xef\xbb\xbftext"), b"no-end": (REGULAR, b"x")}),
    Step({b"link": (SYMLINK, b"README"), b"far": (SYMLINK, b"/etc/../nowhere \xff"), b"up": (SYMLINK, b"../..")}),
    Step({b"vendor/sub": (SUBMODULE, FAR_COMMIT.encode())}),
    Step({b"docs/README": (REGULAR, b"hello\n")}, deletes=[b"README"], message=b"a rename\n"),
    Step({b"swap": (REGULAR, b"a file\n")}),
    Step({b"swap/inner": (REGULAR, b"a folder now\n")}, deletes=[b"swap"], message=b"file to folder\n"),
    Step({b"swap": (SYMLINK, b"docs")}, deletes=[b"swap"], message=b"folder to symlink\n"),
    Step({b"swap": (SUBMODULE, FAR_COMMIT.encode())}, message=b"symlink to submodule\n"),
    Step({b"side.txt": (REGULAR, b"from the side\n")}, branch=b"refs/heads/side", start=1),
    Step(
        {b"side.txt": (REGULAR, b"from the side\n"), b"plain.txt": (REGULAR, b"merged\n")},
        merges=[14],
        message=b"a merge\n",
    ),
    Step({b"plain.txt": (REGULAR, b"plain.txt")}, message=b"back to what it was\n"),
    Step(deletes=ODD_NAMES, message=b""),
    Step({b"last": (REGULAR, b"last\n")}, message=b"m" * 5000, author=b"\xe9\xff <> 99999999999999 +9999"),
)
"""Eighteen commits; seventeen along first parents."""
