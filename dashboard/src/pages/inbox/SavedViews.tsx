import { ActionIcon, Button, CloseButton, Group, Popover, Stack, Text, TextInput, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBookmark } from "@tabler/icons-react";
import { useState } from "react";
import { inWords } from "../../shared/api/problem";
import { perform } from "../../shared/mutations";
import { showDone } from "../../shared/ui/notices";
import { Problem } from "../../shared/ui/Problem";
import classes from "./List.module.css";
import type { InboxSearch } from "./search";
import {
  fromView,
  LONGEST_NAME,
  MOST_VIEWS,
  toView,
  useChangeViews,
  useSavedViews,
  withoutView,
  withView,
} from "./viewQueries";

type Props = { search: InboxSearch; onView: (search: InboxSearch) => void };

/** The views that the person has saved, and a way to save what is shown now. */
export function SavedViews({ search, onView }: Props) {
  const [opened, { toggle, close }] = useDisclosure();
  return (
    <Popover opened={opened} onChange={close} position="bottom-end" shadow="md" width={280} trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon variant="default" size={36} aria-label="Saved views" onClick={toggle}>
          <IconBookmark size={18} aria-hidden />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown aria-label="Saved views">
        <Content
          search={search}
          onView={(view) => {
            close();
            onView(view);
          }}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

function Content({ search, onView }: Props) {
  const { data: views = [], isSuccess, error, refetch } = useSavedViews();
  const change = useChangeViews();
  const [name, setName] = useState("");
  const full = views.length >= MOST_VIEWS && !views.some((one) => one.name.toLowerCase() === name.trim().toLowerCase());
  const save = () =>
    perform(change, (before) => withView(before, toView(name, search)), {
      onSuccess: () => {
        setName("");
        showDone("The view is saved.");
      },
    });
  return (
    <Stack gap="sm">
      {error && views.length === 0 && (
        <Problem>
          Your saved views cannot be shown. {inWords(error)}{" "}
          <Button size="compact-xs" variant="default" onClick={() => void refetch()}>
            Try again
          </Button>
        </Problem>
      )}
      {isSuccess && views.length === 0 && (
        <Text size="sm" c="dimmed">
          No saved view yet. Choose filters, then save them under a name.
        </Text>
      )}
      {views.length > 0 && (
        <Stack component="ul" gap={2} m={0} p={0} className={classes.saved}>
          {views.map((view) => (
            <Group key={view.name} component="li" gap={4} wrap="nowrap">
              <UnstyledButton className={classes.savedView} onClick={() => onView(fromView(view))}>
                {view.name}
              </UnstyledButton>
              <CloseButton
                size="sm"
                aria-label={`Delete the view ${view.name}`}
                disabled={change.isPending}
                onClick={() => change.mutate((before) => withoutView(before, view.name))}
              />
            </Group>
          ))}
        </Stack>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() && !full) save();
        }}
      >
        <Group gap="xs" wrap="nowrap" align="flex-end">
          <TextInput
            flex={1}
            size="xs"
            label="Save this view as"
            maxLength={LONGEST_NAME}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit" size="xs" loading={change.isPending} disabled={!name.trim() || full}>
            Save
          </Button>
        </Group>
      </form>
      <Problem>
        {full ? `You have ${MOST_VIEWS} views. Delete one first.` : change.error ? inWords(change.error) : null}
      </Problem>
    </Stack>
  );
}
