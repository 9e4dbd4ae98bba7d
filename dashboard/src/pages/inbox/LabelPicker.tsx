import { Button, CloseButton, Menu, Text, TextInput } from "@mantine/core";
import { IconPlus, IconTag } from "@tabler/icons-react";
import { useState } from "react";
import { useLabels } from "../../shared/labels";
import { perform } from "../../shared/mutations";
import { useMayManage } from "../../shared/session/queries";
import { showFailure } from "../../shared/ui/notices";
import classes from "./Details.module.css";
import { type Conversation, useCreateLabel, useSetLabel } from "./queries";

type Props = { conversation: Conversation; editable: boolean };

/** The labels of a conversation. Owners can also create one that does not exist yet. */
export function LabelPicker({ conversation, editable }: Props) {
  const { data: all } = useLabels();
  const set = useSetLabel(conversation.id);
  const create = useCreateLabel();
  const mayCreate = useMayManage();
  const [search, setSearch] = useState("");
  const change = (label: string, on: boolean) => perform(set, { label, on }, { onError: showFailure });
  const wanted = search.trim();
  const free = all?.filter(
    ({ id, name }) =>
      !conversation.labels.some((one) => one.id === id) && name.toLowerCase().includes(wanted.toLowerCase()),
  );
  const exists = all?.some(({ name }) => name.toLowerCase() === wanted.toLowerCase());
  const add = (name: string) =>
    perform(create, name, { onSuccess: (label) => change(label.id, true), onError: showFailure });
  return (
    <div>
      <Text size="sm" fw={600}>
        Labels
      </Text>
      <div className={classes.labels}>
        {conversation.labels.map((label) => (
          <span key={label.id} className={classes.label} data-fixed={!editable || undefined}>
            <span className={classes.dot} style={{ background: label.color ?? undefined }} />
            {label.name}
            {editable && (
              <CloseButton
                size="xs"
                aria-label={`Remove the label ${label.name}`}
                onClick={() => change(label.id, false)}
              />
            )}
          </span>
        ))}
        {conversation.labels.length === 0 && !editable && (
          <Text size="sm" c="dimmed">
            None
          </Text>
        )}
        {editable && (
          <Menu shadow="md" width={240} position="bottom-start" onClose={() => setSearch("")}>
            <Menu.Target>
              <Button size="compact-sm" variant="default" leftSection={<IconTag size={14} aria-hidden />}>
                Add a label
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <TextInput
                size="xs"
                m={4}
                aria-label={mayCreate ? "Find or create a label" : "Find a label"}
                placeholder={mayCreate ? "Find or create" : "Find"}
                maxLength={64}
                value={search}
                onChange={(event) => setSearch(event.currentTarget.value)}
              />
              {free?.slice(0, 12).map((label) => (
                <Menu.Item
                  key={label.id}
                  leftSection={
                    <span className={classes.dot} style={{ background: label.color ?? undefined, display: "block" }} />
                  }
                  onClick={() => change(label.id, true)}
                >
                  {label.name}
                </Menu.Item>
              ))}
              {wanted && !exists && mayCreate && (
                <Menu.Item leftSection={<IconPlus size={14} aria-hidden />} onClick={() => add(wanted)}>
                  Create “{wanted}”
                </Menu.Item>
              )}
              {free?.length === 0 && !(wanted && mayCreate) && (
                <Menu.Item disabled>{mayCreate ? "No other label. Write a name." : "No other label."}</Menu.Item>
              )}
            </Menu.Dropdown>
          </Menu>
        )}
      </div>
    </div>
  );
}
