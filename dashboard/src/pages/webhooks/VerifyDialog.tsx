import { Alert, Text, Textarea } from "@mantine/core";
import { IconAlertCircle, IconCheck } from "@tabler/icons-react";
import { useState } from "react";
import { useFields } from "../../shared/fields";
import { Dialog } from "../../shared/ui/Dialog";
import { Form } from "../../shared/ui/Form";
import { readHeaders } from "./form";
import { useVerify, type Verdict } from "./queries";

type Given = { headers: string; body: string };
type Props = { endpoint: string; given?: Given; opened: boolean; onClose: () => void };

/** Checks whether headers and body are a genuine delivery, and says why they are not. */
export function VerifyDialog({ endpoint, given = { headers: "", body: "" }, opened, onClose }: Props) {
  return (
    <Dialog opened={opened} onClose={onClose} title="Verify a payload" size="lg">
      <Verify endpoint={endpoint} given={given} />
    </Dialog>
  );
}

function Verify({ endpoint, given }: { endpoint: string; given: Given }) {
  const verify = useVerify(endpoint);
  const { values, text } = useFields(given, verify.error);
  const [problem, setProblem] = useState<string | null>(null);
  const headers = text("headers");
  const submit = () => {
    const read = readHeaders(values.headers);
    setProblem("problem" in read ? read.problem : null);
    if ("headers" in read) verify.mutate({ headers: read.headers, body: values.body });
  };
  return (
    <Form action="Verify" busy={verify.isPending} error={verify.error} fields={["headers", "body"]} onSubmit={submit}>
      <Text size="sm" c="dimmed">
        Paste a request as your server received it. The body has to be exactly as it came, byte for byte.
      </Text>
      <Textarea
        label="Headers"
        description="webhook-id, webhook-timestamp and webhook-signature, one per line."
        ff="monospace"
        {...headers}
        error={problem ?? headers.error}
        autosize
        minRows={3}
        maxRows={8}
        required
      />
      <Textarea label="Body" {...text("body")} autosize minRows={4} maxRows={12} required />
      {verify.data && <Result verdict={verify.data} />}
    </Form>
  );
}

function Result({ verdict }: { verdict: Verdict }) {
  return verdict.valid ? (
    <Alert color="teal" icon={<IconCheck size={18} aria-hidden />} title="Genuine" role="status">
      It was signed with {verdict.signed_by === "previous" ? "the previous" : "the current"} secret of this endpoint.
    </Alert>
  ) : (
    <Alert color="red" icon={<IconAlertCircle size={18} aria-hidden />} title="Not genuine" role="status">
      {verdict.reason}
    </Alert>
  );
}
