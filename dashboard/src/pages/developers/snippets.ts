export type SnippetValues = { origin: string; key: string; phone: string };
export type Snippet = { id: string; label: string; note: string; code: string };

export const KEY_PLACEHOLDER = "YOUR_API_KEY";
export const EXAMPLE_PHONE = "5511999998888";
const BODY = "Hello from Gatepost";

/** How to send a text from several languages, with the reader's own values. Each runs as it is. */
export function snippets({ origin, key, phone }: SnippetValues): Snippet[] {
  const url = `${origin}/api/v1/message/send`;
  return [
    {
      id: "curl",
      label: "curl",
      note: "",
      code: `curl -s --fail-with-body '${url}' \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"phone": "${phone}", "body": "${BODY}"}'`,
    },
    {
      id: "client",
      label: "Python client",
      note: "Needs the package gatepost-client, which repeats requests safely, reads lists and verifies webhooks.",
      code: `from gatepost_client import Gatepost

with Gatepost("${origin}", "${key}") as gp:
    sent = gp.send_text("${phone}", "${BODY}")
    print(sent.id, sent.status)`,
    },
    {
      id: "python",
      label: "Python",
      note: "Needs nothing but Python.",
      code: `import json
from urllib.request import Request, urlopen

request = Request(
    "${url}",
    data=json.dumps({"phone": "${phone}", "body": "${BODY}"}).encode(),
    headers={"Authorization": "Bearer ${key}", "Content-Type": "application/json"},
)
with urlopen(request) as response:
    print(json.load(response)["data"]["key"]["id"])`,
    },
    {
      id: "javascript",
      label: "JavaScript",
      note: "For a server: a page must not contain the key.",
      code: `const response = await fetch("${url}", {
  method: "POST",
  headers: {
    Authorization: "Bearer ${key}",
    "Content-Type": "application/json",
  },
  body: JSON.stringify({ phone: "${phone}", body: "${BODY}" }),
});
const { success, message, data } = await response.json();
if (!success) throw new Error(message);
console.log(data.key.id, data.status);`,
    },
    {
      id: "php",
      label: "PHP",
      note: "Needs the extension curl.",
      code: `<?php

$request = curl_init("${url}");
curl_setopt_array($request, [
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => ["Authorization: Bearer ${key}", "Content-Type: application/json"],
    CURLOPT_POSTFIELDS => json_encode(["phone" => "${phone}", "body" => "${BODY}"]),
]);
$response = json_decode(curl_exec($request), true);
echo $response["data"]["key"]["id"] ?? $response["message"], "\\n";`,
    },
  ];
}
