"""The MCP server: tools, resources and prompts for AI assistants, over the same functions as the REST API.

POST /mcp ─► api/mcp_route.py  key, Host, Origin, size
          ─► transport.py      a plain call: plain_calls.py; all else: the SDK (`sdk_server.py`)
          ─► calls.py          finds the tool, checks its arguments, runs it, records the call
          ─► tools/            one function per tool, with the structs of its arguments and its result
          ─► outside_words.py  marks what strangers wrote

Only `sdk_server.py` imports the SDK: it takes a second to load, and a process that gets only plain calls does not need
it.
"""
