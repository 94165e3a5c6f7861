"""One file a task, each to be read in a few minutes and copied: `python -m examples.recipes.unique_email`."""
