// Reads deliveries, one JSON a line: {secret, headers, body}; writes for each "genuine", or why it is not.
// v1 is judged by the library of Standard Webhooks, v1a (which that does not know) by Node's own ed25519.
import { createPublicKey, verify } from "node:crypto";
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

const SPKI = Buffer.from("302a300506032b6570032100", "hex"); // what comes before the 32 bytes of an ed25519 key

function judge({ secret, headers, body }) {
  if (!secret.startsWith("whpk_")) {
    new Webhook(secret).verify(body, headers);
    return;
  }
  const raw = Buffer.from(secret.slice("whpk_".length), "base64");
  const key = createPublicKey({ key: Buffer.concat([SPKI, raw]), format: "der", type: "spki" });
  const signed = Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`);
  const offered = headers["webhook-signature"].split(" ").filter((one) => one.startsWith("v1a,"));
  if (!offered.some((one) => verify(null, signed, key, Buffer.from(one.slice("v1a,".length), "base64"))))
    throw new Error("No matching signature found");
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    judge(JSON.parse(line));
    console.log("genuine");
  } catch (error) {
    console.log(error.message);
  }
}
