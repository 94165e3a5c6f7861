"""Each platform's npm package of the engine, its checksum there, and the tag of the wheel that it becomes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    package: str
    """npm's name."""
    integrity: str
    """SHA-512 of the package's archive, in base64, as npm writes it."""
    tag: str
    """Of the wheel. The binary is linked statically, so it runs with any C library."""


VERSION = "1.2.1"
PLATFORMS = {
    "linux-x64": Platform(
        package="@dynoxide/linux-x64",
        integrity="sBHqlxJ9ANkLluFkYRfd5r8Y0ApFew4FhOrlhgRAgD4XzEoFOukEo1nuBTQ1+jTtofqwn4NWQ2k0Tn5mNTjgUg==",
        tag="py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    ),
}
"""Those that the registry has. For another one, add its line here: the script does the rest."""
