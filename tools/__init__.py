"""Programs of development. None of them is part of the package."""
