"""Projects: boards that people draw on together, and git histories, with every version kept. See README.md.

Begin with `model`, which declares the two documents and their mutations; `import_git` is the import, `service` what the
command line does; `cli` is the front door, and `board` the page with its server.
"""
