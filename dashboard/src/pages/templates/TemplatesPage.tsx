import { Button, Group, Select, Stack } from "@mantine/core";
import { IconPlus, IconRefresh, IconTemplate } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { rowsOf } from "../../shared/lists";
import { perform } from "../../shared/mutations";
import { useMayManage } from "../../shared/session/queries";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Listed } from "../../shared/ui/Listed";
import { LoadMore } from "../../shared/ui/LoadMore";
import { showDone, showFailure } from "../../shared/ui/notices";
import { PageHeader } from "../../shared/ui/PageHeader";
import { SearchField } from "../../shared/ui/SearchField";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { OfficialPage } from "./OfficialPage";
import { useSync, useTemplates } from "./queries";
import type { TemplateSearch } from "./search";
import { TemplateDrawer } from "./TemplateDrawer";
import { TemplateTable } from "./TemplateTable";
import { FILTERED_STATUSES } from "./words";

export function TemplatesPage() {
  return (
    <OfficialPage>
      <Templates />
    </OfficialPage>
  );
}

function Templates() {
  const search = useSearch({ from: "/signed-in/templates" });
  const navigate = useNavigate({ from: "/templates" });
  const mayManage = useMayManage();
  const templates = useTemplates(search);
  const rows = rowsOf(templates.data);
  const filter = (part: Partial<TemplateSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  const open = (template?: string) => void navigate({ search: (before) => ({ ...before, template }) });
  const add = mayManage && (
    <Button
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => void navigate({ to: "/templates/editor", search: {} })}
    >
      Write a template
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Templates"
        actions={
          mayManage && (
            <>
              <Sync />
              {add}
            </>
          )
        }
      >
        Messages that the network has approved. Only they can be sent when the last message of a person is older than 24
        hours.
      </PageHeader>
      <Stack gap="md">
        <Filters search={search} onChange={filter} />
        <Listed query={templates} loading={<SkeletonRows label="Loading templates" height={60} />}>
          {() =>
            rows.length ? (
              <TemplateTable rows={rows} onOpen={open} />
            ) : (
              <Nothing filtered={Boolean(search.status || search.name)} />
            )
          }
        </Listed>
        <LoadMore query={templates} />
      </Stack>
      <TemplateDrawer template={search.template} onClose={() => open(undefined)} />
    </>
  );
}

function Sync() {
  const sync = useSync();
  const run = () =>
    perform(sync, undefined, {
      onSuccess: ({ added, changed, deleted }) =>
        showDone(`Read from the network: ${added} new, ${changed} changed, ${deleted} gone.`),
      onError: showFailure,
    });
  return (
    <Button
      variant="default"
      leftSection={<IconRefresh size={16} aria-hidden />}
      loading={sync.isPending}
      onClick={run}
    >
      Sync with the network
    </Button>
  );
}

type FilterProps = { search: TemplateSearch; onChange: (part: Partial<TemplateSearch>) => void };

function Filters({ search, onChange }: FilterProps) {
  return (
    <Group gap="sm" role="search" aria-label="Search the templates">
      <SearchField
        label="Name"
        placeholder="Part of the name"
        value={search.name}
        onChange={(name) => onChange({ name })}
        flex={{ base: "1 1 100%", xs: "1 1 200px" }}
      />
      <Select
        aria-label="Status"
        placeholder="Any status"
        data={FILTERED_STATUSES}
        value={search.status ?? null}
        onChange={(status) => onChange({ status: status ?? undefined })}
        clearable
        flex={{ base: "1 1 100%", xs: "0 0 180px" }}
      />
    </Group>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <EmptyState icon={IconTemplate} title="No template fits this search">
      Remove a filter to see more.
    </EmptyState>
  ) : (
    <EmptyState icon={IconTemplate} title="No templates yet">
      Write one, and the network reviews it, usually within minutes. Or sync, if your business account has templates
      already.
    </EmptyState>
  );
}
