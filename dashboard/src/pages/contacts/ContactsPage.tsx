import { Button, Menu, Stack } from "@mantine/core";
import { IconDownload, IconPlus, IconTableImport, IconUsers } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useChannelScope } from "../../shared/channels";
import { rowsOf } from "../../shared/lists";
import { useMayManage, useMayWork } from "../../shared/session/queries";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Listed } from "../../shared/ui/Listed";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { ContactDrawer } from "./ContactDrawer";
import { ContactFilters } from "./ContactFilters";
import { ContactList } from "./ContactList";
import { ContactsTabs } from "./ContactsTabs";
import { CreateDialog } from "./CreateDialog";
import { ImportDialog } from "./ImportDialog";
import { useContacts } from "./queries";
import { type ContactSearch, exportAddress, isFiltered } from "./search";

export function ContactsPage() {
  return (
    <ChannelPage>
      <Contacts />
    </ChannelPage>
  );
}

function Contacts() {
  const search = useSearch({ from: "/signed-in/contacts" });
  const navigate = useNavigate({ from: "/contacts" });
  const [dialog, setDialog] = useState<"create" | "import" | null>(null);
  const mayManage = useMayManage();
  const mayWork = useMayWork();
  const contacts = useContacts(search);
  const rows = rowsOf(contacts.data);
  const filter = (part: Partial<ContactSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  const open = (contact?: string) => void navigate({ search: (before) => ({ ...before, contact }) });
  const add = mayWork && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setDialog("create")}>
      Add a contact
    </Button>
  );
  return (
    <ContactsTabs
      actions={
        <>
          <Files search={search} onImport={mayManage ? () => setDialog("import") : null} />
          {add}
        </>
      }
    >
      <Stack gap="md">
        <ContactFilters search={search} onChange={filter} />
        <Listed query={contacts} loading={<SkeletonRows label="Loading contacts" rows={6} height={60} />}>
          {() =>
            rows.length || contacts.hasNextPage ? (
              <ContactList rows={rows} query={contacts} onOpen={open} />
            ) : (
              <Nothing filtered={isFiltered(search)} mayManage={mayManage} mayWork={mayWork} />
            )
          }
        </Listed>
      </Stack>
      <ContactDrawer contact={search.contact} onOpen={open} />
      <CreateDialog opened={dialog === "create"} onClose={() => setDialog(null)} onCreated={open} />
      <ImportDialog opened={dialog === "import"} onClose={() => setDialog(null)} />
    </ContactsTabs>
  );
}

function Files({ search, onImport }: { search: ContactSearch; onImport: (() => void) | null }) {
  const { id } = useChannelScope();
  return (
    <Menu position="bottom-end" shadow="md">
      <Menu.Target>
        <Button variant="default">Import and export</Button>
      </Menu.Target>
      <Menu.Dropdown>
        {onImport && (
          <Menu.Item leftSection={<IconTableImport size={16} aria-hidden />} onClick={onImport}>
            Import a table
          </Menu.Item>
        )}
        <Menu.Item
          component="a"
          href={exportAddress(id, search)}
          download
          leftSection={<IconDownload size={16} aria-hidden />}
        >
          {search.label || search.opted_out ? "Export these contacts" : "Export all contacts"}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function Nothing({ filtered, mayManage, mayWork }: { filtered: boolean; mayManage: boolean; mayWork: boolean }) {
  return filtered ? (
    <EmptyState icon={IconUsers} title="Nobody fits this search">
      Names and numbers are searched from their beginning. Type less, or remove a filter.
    </EmptyState>
  ) : (
    <EmptyState icon={IconUsers} title="No contacts yet">
      A person who writes to this channel appears here.
      {mayManage ? " You can also add one, or import a table." : mayWork && " You can also add one."}
    </EmptyState>
  );
}
