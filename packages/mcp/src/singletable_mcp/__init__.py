"""The command `singletable mcp`: access patterns as tools for agents, on the Model Context Protocol.

Begin with `tools` (what a tool is, and those that read), then `schema` (their arguments), `writes` and `server`.
"""
