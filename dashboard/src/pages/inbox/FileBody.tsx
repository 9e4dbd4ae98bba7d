import { Anchor, Text } from "@mantine/core";
import { IconFile, IconPhotoOff } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { bytes } from "../../shared/bytes";
import { useChannelScope } from "../../shared/channels";
import type { FileInfo, FileLook } from "./content";
import { safeLink } from "./links";
import { fileAddress } from "./queries";
import classes from "./Thread.module.css";

const TRIES = 6;

type Props = { look: FileLook; file: FileInfo; voice: boolean };

/** A file of a message: seen or heard here if the gateway has it, else as a link. Nothing is loaded from other hosts. */
export function FileBody({ look, file, voice }: Props) {
  const { id: channel } = useChannelScope();
  const { broken, waiting, onError, retry } = useRetries();
  if (!file.id) return <Elsewhere file={file} />;
  const address = fileAddress(channel, file.id);
  if (broken) return <Missing file={file} waiting={waiting} onRetry={retry} />;
  switch (look) {
    case "image":
      return (
        <a href={address} download={file.name ?? true} className={classes.picture}>
          <img src={address} alt={file.name ?? "Picture"} loading="lazy" onError={onError} />
        </a>
      );
    case "sticker":
      return <img className={classes.sticker} src={address} alt="Sticker" loading="lazy" onError={onError} />;
    case "video":
      return (
        // biome-ignore lint/a11y/useMediaCaption: people send no captions with their videos
        <video className={classes.video} src={address} controls preload="metadata" onError={onError} />
      );
    case "audio":
      return (
        // biome-ignore lint/a11y/useMediaCaption: people send no captions with their recordings
        <audio
          className={classes.audio}
          src={address}
          controls
          preload="metadata"
          aria-label={voice ? "Voice message" : "Audio"}
          onError={onError}
        />
      );
    case "document":
      return (
        <a className={classes.file} href={address} download={file.name ?? true}>
          <IconFile size={26} stroke={1.5} aria-hidden />
          <span>
            <span className={classes.filename}>{file.name ?? "Document"}</span>
            <Text span size="xs" c="dimmed">
              {[file.mime, file.size !== null && bytes(file.size)].filter(Boolean).join(" · ")}
            </Text>
          </span>
        </a>
      );
  }
}

/** A file that has just come may still be on its way from the network: it is tried again a few times. */
function useRetries() {
  const [failures, setFailures] = useState(0);
  const [broken, setBroken] = useState(false);
  const waiting = failures <= TRIES;
  useEffect(() => {
    if (!broken || !waiting) return;
    const timer = setTimeout(() => setBroken(false), 500 * 2 ** failures);
    return () => clearTimeout(timer);
  }, [broken, waiting, failures]);
  const onError = () => {
    setFailures((count) => count + 1);
    setBroken(true);
  };
  return { broken, waiting, onError, retry: () => setBroken(false) };
}

function Elsewhere({ file }: { file: FileInfo }) {
  const href = safeLink(file.link);
  if (!href) return <Missing file={file} />;
  return (
    <Anchor className={classes.file} href={href} target="_blank" rel="noopener noreferrer">
      <IconFile size={26} stroke={1.5} aria-hidden />
      <span className={classes.filename}>{file.name ?? file.link}</span>
    </Anchor>
  );
}

function Missing({ file, waiting, onRetry }: { file: FileInfo; waiting?: boolean; onRetry?: () => void }) {
  return (
    <div className={classes.file}>
      <IconPhotoOff size={26} stroke={1.5} aria-hidden />
      <span>
        <span className={classes.filename}>{file.name ?? "File"}</span>
        <Text span size="xs" c="dimmed">
          {waiting ? "It is being loaded…" : "It cannot be shown."}{" "}
          {onRetry && !waiting && (
            <Anchor component="button" type="button" size="xs" underline="always" onClick={onRetry}>
              Try again
            </Anchor>
          )}
        </Text>
      </span>
    </div>
  );
}
