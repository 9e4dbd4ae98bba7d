import { Alert, Anchor, Stack, Tabs, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { CodeBlock } from "../../shared/ui/CodeBlock";
import { DevelopersTabs } from "./DevelopersTabs";
import { useExamplePhone, useNewKey } from "./queries";
import { EXAMPLE_PHONE, KEY_PLACEHOLDER, snippets } from "./snippets";

export function ExamplesPage() {
  return (
    <ChannelPage>
      <DevelopersTabs>
        <Examples />
      </DevelopersTabs>
    </ChannelPage>
  );
}

function Examples() {
  const key = useNewKey();
  const phone = useExamplePhone() ?? EXAMPLE_PHONE;
  const list = snippets({ origin: window.location.origin, key: key ?? KEY_PLACEHOLDER, phone });
  return (
    <Stack gap="lg">
      <Alert variant="light" color={key ? "teal" : "gray"}>
        {key ? (
          "The examples contain the key that you have just created."
        ) : (
          <>
            Put your key in the place of <code>{KEY_PLACEHOLDER}</code>, or{" "}
            <Anchor component={Link} to="/developers" inherit underline="always">
              create one
            </Anchor>
            .
          </>
        )}
      </Alert>
      <Tabs defaultValue="curl" keepMounted={false} variant="pills">
        <Tabs.List mb="md">
          {list.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {list.map(({ id, code, note }) => (
          <Tabs.Panel key={id} value={id}>
            <CodeBlock label="Send a text" text={code} />
            {note && (
              <Text size="sm" c="dimmed" mt="xs">
                {note}
              </Text>
            )}
          </Tabs.Panel>
        ))}
      </Tabs>
      <Text size="sm" c="dimmed">
        More: <Guide to="call-from-curl">curl</Guide>, <Guide to="call-from-javascript">JavaScript</Guide>,{" "}
        <Guide to="call-from-php">PHP</Guide>,{" "}
        <Anchor href="/docs/reference/python-client" target="_blank" rel="noopener" inherit underline="always">
          Python client
        </Anchor>
        , <Guide to="verify-webhooks">verify webhooks</Guide>.
      </Text>
    </Stack>
  );
}

function Guide({ to, children }: { to: string; children: string }) {
  return (
    <Anchor href={`/docs/how-to/${to}`} target="_blank" rel="noopener" inherit underline="always">
      {children}
    </Anchor>
  );
}
