import { Alert, Group, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useSession } from "../../shared/session/queries";
import { duration } from "../../shared/times";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { CodeBlock } from "../../shared/ui/CodeBlock";
import { Form } from "../../shared/ui/Form";
import { Loaded } from "../../shared/ui/Loaded";
import { Section } from "../../shared/ui/Section";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { BodyInput } from "./BodyInput";
import { type ConsoleAnswer, useConsole } from "./console";
import { DevelopersTabs } from "./DevelopersTabs";
import { mayCall, type Operation, type Parameter, prepare, type Values } from "./operations";
import { useOperations } from "./queries";
import { statusLook } from "./words";

const FIRST = "POST /api/v1/message/send";

export function ConsolePage() {
  return (
    <ChannelPage>
      <DevelopersTabs>
        <Console />
      </DevelopersTabs>
    </ChannelPage>
  );
}

function Console() {
  const operations = useOperations();
  const { scopes, user } = useSession();
  return (
    <Loaded query={operations} loading={<SkeletonRows label="Loading the operations" rows={3} height={80} />}>
      {(all) => <Chosen operations={all.filter((one) => mayCall(one, scopes, user.role))} all={all} />}
    </Loaded>
  );
}

function Chosen({ operations, all }: { operations: Operation[]; all: Operation[] }) {
  const search = useSearch({ from: "/signed-in/developers/console" });
  const navigate = useNavigate({ from: "/developers/console" });
  const named = search.operation ?? FIRST;
  const current = operations.find((one) => one.id === named) ?? operations[0];
  const choose = (operation: string | null) =>
    void navigate({ search: (before) => ({ ...before, operation: operation ?? undefined }) });
  return (
    <Stack gap="lg">
      <Select
        label="Operation"
        description="What your role may send. Requests are sent as you, with your session instead of a key."
        data={grouped(operations)}
        value={current?.id ?? null}
        onChange={choose}
        searchable
        allowDeselect={false}
        maxDropdownHeight={360}
      />
      {search.operation && search.operation !== current?.id && (
        <Alert color="orange" variant="light">
          {all.some((one) => one.id === search.operation)
            ? `Your role may not send ${search.operation}.`
            : `There is no operation ${search.operation}.`}
        </Alert>
      )}
      {current && <Request key={current.id} operation={current} />}
    </Stack>
  );
}

function grouped(operations: Operation[]) {
  return [...new Set(operations.map(({ group }) => group))].map((group) => ({
    group,
    items: operations
      .filter((one) => one.group === group)
      .map(({ id, summary }) => ({ value: id, label: `${summary} · ${id}` })),
  }));
}

function Request({ operation }: { operation: Operation }) {
  const send = useConsole();
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(operation.parameters.map(({ name, example }) => [name, example])),
  );
  const [body, setBody] = useState(operation.body);
  const [problem, setProblem] = useState<Error | null>(null);
  const submit = () => {
    const prepared = prepare(operation, values);
    if ("missing" in prepared) {
      setProblem(new Error(`Fill in: ${prepared.missing.join(", ")}`));
      return;
    }
    setProblem(null);
    send.mutate({ method: operation.method, ...prepared, body });
  };
  return (
    <>
      <Section title={operation.summary} text={operation.description}>
        <Form action="Send the request" busy={send.isPending} error={problem ?? send.error} onSubmit={submit}>
          {operation.parameters.length > 0 && (
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              {operation.parameters.map((parameter) => (
                <ParameterInput
                  key={parameter.name}
                  parameter={parameter}
                  value={values[parameter.name] ?? ""}
                  onChange={(value) => setValues((before) => ({ ...before, [parameter.name]: value }))}
                />
              ))}
            </SimpleGrid>
          )}
          {body !== null && <BodyInput value={body} onChange={setBody} />}
          {operation.method !== "GET" && (
            <Text size="sm" c="dimmed">
              This changes data of the channel, as the same request of a program does.
            </Text>
          )}
        </Form>
      </Section>
      {send.data && <Answer answer={send.data} />}
    </>
  );
}

type InputProps = { parameter: Parameter; value: string; onChange: (value: string) => void };

function ParameterInput({ parameter, value, onChange }: InputProps) {
  const common = { label: parameter.name, description: parameter.description, required: parameter.required };
  return parameter.choices.length ? (
    <Select
      {...common}
      data={parameter.choices}
      value={value || null}
      onChange={(one) => onChange(one ?? "")}
      clearable
    />
  ) : (
    <TextInput {...common} value={value} onChange={(event) => onChange(event.currentTarget.value)} />
  );
}

function Answer({ answer }: { answer: ConsoleAnswer }) {
  return (
    <Section
      title="Response"
      actions={
        <Group gap="sm" role="status">
          <StatusBadge look={statusLook(answer.status)} size="lg" />
          <Text size="sm" c="dimmed">
            {duration(answer.milliseconds)}
          </Text>
        </Group>
      }
    >
      <CodeBlock label="Response body" text={answer.body} empty="The response has no body." />
      <CodeBlock label="Response headers" text={answer.headers} />
    </Section>
  );
}
