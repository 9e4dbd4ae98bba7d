import { useSignal } from "@preact/signals";
import type { Media } from "../../shared/types";
import { safeLink } from "../logic/formatting";
import { mediaWord, sizeWord } from "../logic/words";
import { usePhone } from "../phone";
import { Icon, type IconName } from "../ui/Icon";
import { AudioPlayer } from "./AudioPlayer";
import { SafeLink } from "./RichText";
import { Viewer } from "./Viewer";

const PICTURES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

interface Props {
  media: Media;
  caption?: string;
  onPlay?: (() => void) | undefined;
}

/** A file of a message, as what it is. Only files of the sandbox are loaded, and only harmless pictures are drawn. */
export function MediaView({ media, caption = "", onPlay }: Props) {
  const { url } = media;
  if (!url) return <MissingFile media={media} />;
  const isPicture = PICTURES.has((media.mime_type ?? "").split(";")[0]?.trim() ?? "");
  if (media.kind === "sticker" && isPicture) return <img class="sticker" src={url} alt="Sticker" loading="lazy" />;
  if (media.kind === "image" && isPicture) return <Picture url={url} media={media} caption={caption} />;
  if (media.kind === "video") return <Video url={url} media={media} />;
  if (media.kind === "audio") {
    return <AudioPlayer url={url} voice={Boolean(media.voice)} size={media.size} onPlay={onPlay} />;
  }
  return <FileCard url={url} media={media} />;
}

function Picture({ url, media, caption }: { url: string; media: Media; caption: string }) {
  const phone = usePhone();
  const name = caption ? `Photo: ${caption.slice(0, 80)}` : "Photo";
  return (
    <button
      type="button"
      class="picture"
      aria-label={`Open ${name}`}
      onClick={() => phone.show(<Viewer url={url} media={media} caption={caption} onClose={phone.close} />)}
    >
      <img src={url} alt={name} loading="lazy" />
    </button>
  );
}

/** A player; a film that the browser cannot play is a file to download. */
function Video({ url, media }: { url: string; media: Media }) {
  const failed = useSignal(false);
  if (failed.value) return <FileCard url={url} media={media} />;
  return (
    // biome-ignore lint/a11y/useMediaCaption: what strangers send has no captions
    <video
      class="video"
      src={url}
      controls
      preload="metadata"
      playsInline
      aria-label="Video"
      onError={() => (failed.value = true)}
    />
  );
}

function FileCard({ url, media }: { url: string; media: Media }) {
  const name = media.filename || mediaWord(media);
  const details = [sizeWord(media.size), media.mime_type].filter(Boolean).join(" · ");
  return (
    <a class="file-card" href={url} download={name}>
      <span class="file-icon">
        <Icon name="file" size={22} />
      </span>
      <span class="file-text">
        <span class="file-name">
          <span class="visually-hidden">Download </span>
          {name}
        </span>
        <span class="file-details">{details}</span>
      </span>
      <Icon name="download" />
    </a>
  );
}

const ICONS: Record<Media["kind"], IconName> = {
  image: "picture",
  video: "video",
  audio: "microphone",
  document: "file",
  sticker: "smile",
};

/** A file that the sandbox does not have: it was sent as a link, or is too old. */
function MissingFile({ media }: { media: Media }) {
  const href = safeLink(media.link);
  return (
    <div class="missing-file">
      <Icon name={ICONS[media.kind]} size={26} />
      <span>
        <span class="file-name">{media.filename || mediaWord(media)}</span>
        {href ? (
          <SafeLink class="file-details" href={href}>
            {href.length > 60 ? `${href.slice(0, 59)}…` : href}
          </SafeLink>
        ) : (
          <span class="file-details">{media.link ?? "The file is not available."}</span>
        )}
      </span>
    </div>
  );
}
