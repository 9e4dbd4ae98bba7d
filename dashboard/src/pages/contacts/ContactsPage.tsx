import { Button, Menu, Skeleton, Stack } from "@mantine/core";
import { IconDownload, IconPlus, IconTableImport, IconUsers } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useChannelScope } from "../../shared/channels";
import { useMayManage } from "../../shared/session/queries";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Failure } from "../../shared/ui/Failure";
import { ContactDrawer } from "./ContactDrawer";
import { ContactFilters } from "./ContactFilters";
import { ContactList } from "./ContactList";
import { ContactsHeader } from "./ContactsHeader";
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
  const contacts = useContacts(search);
  const rows = contacts.data?.pages.flatMap((page) => page.items) ?? [];
  const filter = (part: Partial<ContactSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  const open = (contact?: string) => void navigate({ search: (before) => ({ ...before, contact }) });
  const add = mayManage && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setDialog("create")}>
      Add a contact
    </Button>
  );
  return (
    <ContactsHeader
      tab="contacts"
      actions={
        <>
          <Files search={search} onImport={mayManage ? () => setDialog("import") : null} />
          {add}
        </>
      }
    >
      <Stack gap="md">
        <ContactFilters search={search} onChange={filter} />
        {contacts.isPending && <Loading />}
        {contacts.isError && !contacts.data && (
          <Failure error={contacts.error} onRetry={() => void contacts.refetch()} />
        )}
        {contacts.data && rows.length === 0 && <Nothing filtered={isFiltered(search)} mayManage={mayManage} />}
        {rows.length > 0 && (
          <ContactList
            rows={rows}
            more={contacts.hasNextPage}
            loading={contacts.isFetchingNextPage}
            onMore={contacts.fetchNextPage}
            onOpen={open}
          />
        )}
      </Stack>
      <ContactDrawer contact={search.contact} onOpen={open} />
      <CreateDialog opened={dialog === "create"} onClose={() => setDialog(null)} onCreated={open} />
      <ImportDialog opened={dialog === "import"} onClose={() => setDialog(null)} />
    </ContactsHeader>
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

function Nothing({ filtered, mayManage }: { filtered: boolean; mayManage: boolean }) {
  return filtered ? (
    <EmptyState icon={IconUsers} title="Nobody fits this search">
      Names and numbers are searched from their beginning. Type less, or remove a filter.
    </EmptyState>
  ) : (
    <EmptyState icon={IconUsers} title="No contacts yet">
      A person who writes to this channel appears here.
      {mayManage && " You can also add one, or import a table."}
    </EmptyState>
  );
}

function Loading() {
  return (
    <Stack gap="xs" role="status" aria-label="Loading contacts">
      {[0, 1, 2, 3, 4, 5].map((row) => (
        <Skeleton key={row} height={60} radius={8} />
      ))}
    </Stack>
  );
}
