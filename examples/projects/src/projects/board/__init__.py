"""The board: a page where several people edit a project at once, its HTTP API, and Replicache's push and pull."""
