import type { SnippetValues } from "./snippets";

export type McpClient = { id: string; label: string; where: string; note: string; code: string };

/** How to connect an MCP client, with the reader's own values. */
export function mcpClients({ origin, key }: Pick<SnippetValues, "origin" | "key">): McpClient[] {
  const url = `${origin}/mcp`;
  const headers = { Authorization: `Bearer ${key}` };
  const stdio = { command: "gatepost", args: ["mcp"], env: { GATEPOST_URL: origin, GATEPOST_KEY: key } };
  return [
    {
      id: "claude-code",
      label: "Claude Code",
      where: "Run in a terminal",
      note: "",
      code: `claude mcp add --transport http gatepost '${url}' \\
  --header 'Authorization: Bearer ${key}'`,
    },
    {
      id: "claude-desktop",
      label: "Claude Desktop",
      where: "claude_desktop_config.json",
      note: "Needs the command gatepost on this computer. Remote connectors of Claude need OAuth, which is not supported.",
      code: json({ mcpServers: { gatepost: stdio } }),
    },
    {
      id: "cursor",
      label: "Cursor",
      where: ".cursor/mcp.json",
      note: "",
      code: json({ mcpServers: { gatepost: { url, headers } } }),
    },
    {
      id: "vscode",
      label: "VS Code",
      where: ".vscode/mcp.json",
      note: "",
      code: json({ servers: { gatepost: { type: "http", url, headers } } }),
    },
    {
      id: "http",
      label: "Other, HTTP",
      where: "Streamable HTTP",
      note: "Each request carries the key. There is no session, and no OAuth.",
      code: json({ type: "streamable-http", url, headers }),
    },
    {
      id: "stdio",
      label: "Other, stdio",
      where: "Command",
      note: "For clients that start a program. It is a client of this gateway, and needs only its address and a key.",
      code: `GATEPOST_URL='${origin}' GATEPOST_KEY='${key}' gatepost mcp`,
    },
  ];
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
