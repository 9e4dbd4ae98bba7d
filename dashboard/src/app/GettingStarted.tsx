import { ActionIcon, Anchor, Group, Stack, Text, ThemeIcon } from "@mantine/core";
import { IconCheck, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask } from "../shared/api/client";
import { useMayManage, useSession } from "../shared/session/queries";
import { type Checklist, hide, isDone, isHidden, STEPS, type Step } from "./checklist";
import classes from "./GettingStarted.module.css";

const HOME = "/inbox";

/** The first steps of an account, above the first page, until they are done or the person hides them. */
export function GettingStarted() {
  const { user } = useSession();
  const mayManage = useMayManage();
  const home = useRouterState({ select: ({ location }) => location.pathname === HOME });
  const [hidden, setHidden] = useState(() => isHidden(user.id));
  if (!home || hidden || !mayManage) return null;
  const dismiss = () => {
    hide(user.id);
    setHidden(true);
  };
  return <Steps onDismiss={dismiss} />;
}

/** An account that has done everything before never sees the list; one that does the last step sees its tick. */
function Steps({ onDismiss }: { onDismiss: () => void }) {
  const thread = useRouterState({ select: ({ location }) => "conversation" in location.search });
  const { data } = useQuery({
    queryKey: ["account", "checklist"],
    queryFn: () => ask(api.GET("/api/v1/account/checklist")),
    enabled: ({ state }) => !state.data || !isDone(state.data),
  });
  const [began, setBegan] = useState(false);
  if (data && !began && !isDone(data)) setBegan(true);
  if (!data || !began) return null;
  return (
    <Stack
      component="section"
      gap="sm"
      className={classes.steps}
      data-thread={thread || undefined}
      aria-label="First steps"
    >
      <Group justify="space-between" wrap="nowrap">
        <Text fw={600}>{isDone(data) ? "You are all set" : "First steps"}</Text>
        <ActionIcon variant="subtle" color="gray" aria-label="Hide the first steps" onClick={onDismiss}>
          <IconX size={18} aria-hidden />
        </ActionIcon>
      </Group>
      <ol className={classes.list}>
        {STEPS.map((step) => (
          <li key={step.name} className={classes.step}>
            <StepLine step={step} list={data} />
          </li>
        ))}
      </ol>
    </Stack>
  );
}

function StepLine({ step, list }: { step: Step; list: Checklist }) {
  const done = list[step.name];
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <ThemeIcon
        size={22}
        radius="xl"
        variant={done ? "filled" : "default"}
        role="img"
        aria-label={done ? "Done" : "To do"}
      >
        {done && <IconCheck size={14} aria-hidden />}
      </ThemeIcon>
      <div>
        <Text size="sm" fw={600} td={done ? "line-through" : undefined}>
          {step.title}
        </Text>
        {!done && (
          <Text size="sm" c="dimmed">
            {step.text}{" "}
            {step.to && (
              <Anchor renderRoot={(props) => <Link {...props} to={step.to} />} inherit underline="always">
                {step.action}
              </Anchor>
            )}
          </Text>
        )}
      </div>
    </Group>
  );
}
