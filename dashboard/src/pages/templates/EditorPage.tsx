import { Skeleton } from "@mantine/core";
import { IconTemplate } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { perform } from "../../shared/mutations";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Failure } from "../../shared/ui/Failure";
import { showDone } from "../../shared/ui/notices";
import { useOpening } from "../../shared/ui/opening";
import { PageHeader } from "../../shared/ui/PageHeader";
import { Editor } from "./Editor";
import { OfficialPage } from "./OfficialPage";
import { componentsOf, formOf, NEW_TEMPLATE, templateOf } from "./parts";
import { useChangeTemplate, useCreateTemplate, useTemplate } from "./queries";

export function EditorPage() {
  const { template } = useSearch({ from: "/signed-in/templates/editor" });
  return <OfficialPage>{template ? <Change key={template} id={template} /> : <Create />}</OfficialPage>;
}

/** Shows the template that was submitted, unless the editor was left meanwhile. */
function useDone() {
  const navigate = useNavigate();
  const editor = useOpening(true);
  return (template: { id: string }) => {
    showDone("The network reviews the template now.");
    if (editor.open) void navigate({ to: "/templates", search: { template: template.id } });
  };
}

function Create() {
  const create = useCreateTemplate();
  const done = useDone();
  return (
    <>
      <PageHeader title="Write a template">The network reviews it before it can be sent.</PageHeader>
      <Editor
        initial={NEW_TEMPLATE}
        fixed={false}
        busy={create.isPending}
        saved={create.isSuccess}
        error={create.error}
        onSubmit={(form) => perform(create, templateOf(form), { onSuccess: done })}
      />
    </>
  );
}

function Change({ id }: { id: string }) {
  const { data: template, error, refetch } = useTemplate(id);
  const change = useChangeTemplate(id);
  const done = useDone();
  if (error && !template) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!template) return <Skeleton height={420} aria-label="Loading the template" />;
  const form = formOf(template);
  return (
    <>
      <PageHeader title="Edit a template">The network reviews the template again after a change.</PageHeader>
      {form ? (
        <Editor
          initial={form}
          fixed
          busy={change.isPending}
          saved={change.isSuccess}
          error={change.error}
          onSubmit={(form) => perform(change, { components: componentsOf(form) }, { onSuccess: done })}
        />
      ) : (
        <EmptyState icon={IconTemplate} title="This editor cannot change this template">
          It has parts that the editor does not know. Change it with the API.
        </EmptyState>
      )}
    </>
  );
}
