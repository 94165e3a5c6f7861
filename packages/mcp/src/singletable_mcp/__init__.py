"""The command `singletable mcp`: access patterns as tools for agents, on the Model Context Protocol.

Begin with `tools` (the type of a tool, and tools that read), then `schema` (their arguments),
`attributes` (those of tools that write), `writes`, `commands` (an application's functions) and `server`.
"""
