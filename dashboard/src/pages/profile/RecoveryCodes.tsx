import { Button, Group, SimpleGrid, Text } from "@mantine/core";
import { IconCheck, IconCopy, IconDownload } from "@tabler/icons-react";
import { downloadText } from "../../shared/download";
import { ShownOnce } from "../../shared/ui/ShownOnce";
import { useCopy } from "../../shared/useCopy";

/** The recovery codes, which are shown only once. */
export function RecoveryCodes({ codes, onDone }: { codes: string[] | null; onDone: () => void }) {
  return (
    <ShownOnce title="Recovery codes" opened={codes !== null} action="I have saved them" onDone={onDone}>
      {codes && <Codes codes={codes} />}
    </ShownOnce>
  );
}

function Codes({ codes }: { codes: string[] }) {
  const text = codes.join("\n");
  const { copied, copy } = useCopy(text);
  return (
    <>
      <Text size="sm">
        Keep these codes in a safe place. Each signs you in once when you do not have your phone. They are shown only
        now.
      </Text>
      <SimpleGrid cols={2} spacing="xs" className="code" component="ul" aria-label="Recovery codes" role="list">
        {codes.map((code) => (
          <Text key={code} component="li" ff="monospace" size="sm" style={{ listStyle: "none" }}>
            {code}
          </Text>
        ))}
      </SimpleGrid>
      <Group>
        <Button
          variant="default"
          onClick={copy}
          leftSection={copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
        >
          {copied ? "Copied" : "Copy"}
        </Button>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          onClick={() => downloadText("gatepost-recovery-codes.txt", `${text}\n`)}
        >
          Download
        </Button>
      </Group>
    </>
  );
}
