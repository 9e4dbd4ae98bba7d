import { Badge, Group, Menu, Text } from "@mantine/core";
import { IconAlertTriangle, IconRefresh, IconTrash } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { perform } from "../../shared/mutations";
import { ActionMenu } from "../../shared/ui/ActionMenu";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { type Column, DataTable } from "../../shared/ui/DataTable";
import { showDone } from "../../shared/ui/notices";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { Time } from "../../shared/ui/Time";
import { NewKeyDialog } from "./NewKeyDialog";
import { type ApiKey, type NewApiKey, useRevokeKey } from "./queries";
import { RotateKeyDialog } from "./RotateKeyDialog";
import { isOver, keyLook } from "./words";

type Props = { keys: ApiKey[]; owner: boolean; now: number };

export function KeyTable({ keys, owner, now }: Props) {
  const [made, setMade] = useState<NewApiKey | null>(null); // here, because the row of a replaced key may be gone
  const columns: Column<ApiKey>[] = [
    {
      header: "Name",
      cell: (key) => (
        <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
          {key.name}
        </Text>
      ),
      below: (key) => <code>{key.hint}…</code>,
    },
    { header: "Status", cell: (key) => <StatusBadge look={keyLook(key, now)} />, below: (key) => <End of={key} /> },
    {
      header: "Scopes",
      cell: (key) => (
        <Group gap={4}>
          {key.scopes.map((scope) => (
            <Badge key={scope} variant="default" size="sm">
              {scope}
            </Badge>
          ))}
        </Group>
      ),
      from: "sm",
    },
    {
      header: "Last used",
      cell: (key) => (key.last_used_at ? <Time value={key.last_used_at} /> : "Never"),
      quiet: true,
      from: "xs",
    },
    {
      header: "Created",
      cell: (key) => <Time value={key.created_at} />,
      below: (key) => key.created_by,
      quiet: true,
      from: "md",
    },
  ];
  return (
    <>
      <DataTable
        label="API keys"
        rows={keys}
        columns={columns}
        actions={(key) => <KeyMenu apiKey={key} live={owner && !isOver(key, now)} onRotated={setMade} />}
      />
      <NewKeyDialog made={made} onDone={() => setMade(null)} />
    </>
  );
}

function End({ of: key }: { of: ApiKey }) {
  const at = key.revoked_at ?? key.expires_at;
  return at ? <Time value={at} /> : null;
}

type MenuProps = { apiKey: ApiKey; live: boolean; onRotated: (key: NewApiKey) => void };

function KeyMenu({ apiKey, live, onRotated }: MenuProps) {
  const [dialog, setDialog] = useState<"rotate" | "revoke" | null>(null);
  const revoke = useRevokeKey(apiKey.id);
  const close = () => setDialog(null);
  const done = () => {
    close();
    showDone("The key is revoked.");
  };
  return (
    <>
      <ActionMenu label={`Actions for ${apiKey.name} (${apiKey.hint}…)`}>
        <Menu.Item
          leftSection={<IconAlertTriangle size={16} aria-hidden />}
          renderRoot={(props) => <Link to="/developers/refused" search={{ key: apiKey.id }} {...props} />}
        >
          Refused requests
        </Menu.Item>
        {live && (
          <Menu.Item leftSection={<IconRefresh size={16} aria-hidden />} onClick={() => setDialog("rotate")}>
            Rotate
          </Menu.Item>
        )}
        {live && (
          <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={() => setDialog("revoke")}>
            Revoke
          </Menu.Item>
        )}
      </ActionMenu>
      <RotateKeyDialog apiKey={apiKey} opened={dialog === "rotate"} onClose={close} onRotated={onRotated} />
      <ConfirmDialog
        title="Revoke the key"
        action="Revoke"
        opened={dialog === "revoke"}
        busy={revoke.isPending}
        error={revoke.error}
        onConfirm={() => perform(revoke, undefined, { onSuccess: done })}
        onClose={close}
      >
        Programs that use “{apiKey.name}” ({apiKey.hint}…) get 401 within a second. This cannot be undone.
      </ConfirmDialog>
    </>
  );
}
