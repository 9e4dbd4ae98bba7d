import { ActionIcon, CloseButton, FileButton, Group, Menu, Textarea, Tooltip } from "@mantine/core";
import {
  IconLayoutList,
  IconPaperclip,
  IconPlus,
  IconSend2,
  IconSquareRoundedPlus,
  IconTemplate,
} from "@tabler/icons-react";
import { type DragEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { bytes } from "../../shared/bytes";
import { carriesFiles } from "../../shared/drops";
import { Problem } from "../../shared/ui/Problem";
import classes from "./Composer.module.css";
import { filesOf } from "./files";
import type { ChannelInfo, Conversation } from "./queries";
import { COMPOSER_FIELD } from "./Shortcuts";
import { useComposer } from "./useComposer";
import { personName } from "./words";

const LONGEST = 4096;

/** What is written in a dialog instead of the field. */
export type MoreDialog = "template" | "buttons" | "list";

type Props = {
  conversation: Conversation;
  capabilities: ChannelInfo["capabilities"];
  onMore: (dialog: MoreDialog) => void;
};

/** The field for a message with its files, and the ways to send something else. */
export function MessageForm({ conversation, capabilities, onMore }: Props) {
  const { text, replyTo, endReply, write, files, attach, detach, problem, busy, submit } = useComposer(conversation);
  const [over, setOver] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const reset = useRef<() => void>(null);
  const replied = useRef(replyTo?.id); // one that was chosen before does not take the focus
  useEffect(() => {
    if (replyTo && replyTo.id !== replied.current) field.current?.focus();
    replied.current = replyTo?.id;
  }, [replyTo]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") field.current?.blur();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void submit();
  };
  const onDrop = (event: DragEvent) => {
    setOver(false);
    if (!carriesFiles(event.dataTransfer)) return; // text is dropped into the field
    event.preventDefault();
    attach([...event.dataTransfer.files]);
  };
  return (
    <>
      {problem && (
        <div className={classes.problem}>
          <Problem>{problem}</Problem>
        </div>
      )}
      <form
        className={classes.form}
        aria-label="Message"
        data-over={over || undefined}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
        onDragOver={(event) => {
          if (!carriesFiles(event.dataTransfer)) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
        {replyTo && (
          <div className={classes.reply}>
            <span>
              Reply to {replyTo.own ? "your message" : personName(conversation)}: {replyTo.words}
            </span>
            <CloseButton size="sm" aria-label="Do not reply to this message" onClick={() => endReply()} />
          </div>
        )}
        {files.length > 0 && (
          <div className={classes.files}>
            {files.map((one) => (
              <div key={one.key} className={classes.chip}>
                <span>
                  {one.file.name} · {bytes(one.file.size)}
                </span>
                <CloseButton
                  size="xs"
                  aria-label={`Remove ${one.file.name}`}
                  disabled={busy}
                  onClick={() => detach(one)}
                />
              </div>
            ))}
          </div>
        )}
        <Group gap={4} align="flex-end" wrap="nowrap">
          <FileButton
            multiple
            resetRef={reset}
            onChange={(chosen) => {
              attach(chosen);
              reset.current?.();
            }}
          >
            {(props) => (
              <Tooltip label="Attach files, or drop them here">
                <ActionIcon {...props} variant="subtle" color="gray" size={36} aria-label="Attach files">
                  <IconPaperclip size={19} aria-hidden />
                </ActionIcon>
              </Tooltip>
            )}
          </FileButton>
          <MoreToSend capabilities={capabilities} onMore={onMore} />
          <Textarea
            ref={field}
            id={COMPOSER_FIELD}
            flex={1}
            variant="unstyled"
            autosize
            minRows={1}
            maxRows={8}
            maxLength={LONGEST}
            aria-label="Message"
            dir="auto"
            placeholder={files.length ? "Add a caption" : "Write a message"}
            value={text}
            onChange={(event) => write(event.currentTarget.value)}
            onKeyDown={onKeyDown}
            onPaste={(event) => {
              const pasted = filesOf(event.clipboardData);
              if (pasted.length === 0) return;
              event.preventDefault(); // the name of a file is there as text, too
              attach(pasted);
            }}
          />
          <ActionIcon
            type="submit"
            size={36}
            loading={busy}
            disabled={!text.trim() && files.length === 0}
            aria-label="Send"
          >
            <IconSend2 size={19} aria-hidden />
          </ActionIcon>
        </Group>
      </form>
    </>
  );
}

type MoreProps = Pick<Props, "capabilities" | "onMore">;

/** Templates, buttons and lists, as far as the channel can send them. */
function MoreToSend({ capabilities, onMore }: MoreProps) {
  const can = (type: string) => capabilities.types.includes(type);
  if (!capabilities.templates && !can("buttons") && !can("list")) return null;
  return (
    <Menu position="top-start" shadow="md" width={200}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size={36} aria-label="Send something else">
          <IconPlus size={19} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {capabilities.templates && (
          <Menu.Item leftSection={<IconTemplate size={16} aria-hidden />} onClick={() => onMore("template")}>
            Template
          </Menu.Item>
        )}
        {can("buttons") && (
          <Menu.Item leftSection={<IconSquareRoundedPlus size={16} aria-hidden />} onClick={() => onMore("buttons")}>
            Buttons
          </Menu.Item>
        )}
        {can("list") && (
          <Menu.Item leftSection={<IconLayoutList size={16} aria-hidden />} onClick={() => onMore("list")}>
            List
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
