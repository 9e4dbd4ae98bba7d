import type { Media } from "../../shared/types";
import { useFocusTrap } from "../ui/focus";
import { Icon } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";

interface Props {
  url: string;
  media: Media;
  caption: string;
  onClose: () => void;
}

/** A picture over the whole phone. */
export function Viewer({ url, media, caption, onClose }: Props) {
  const ref = useFocusTrap<HTMLDivElement>(onClose);
  return (
    <div class="viewer" role="dialog" aria-label="Photo" tabIndex={-1} ref={ref}>
      <header>
        <IconButton icon="close" label="Close" onClick={onClose} />
        <a class="icon-button" href={url} download={media.filename || "picture"} aria-label="Download" title="Download">
          <Icon name="download" size={22} />
        </a>
      </header>
      <img src={url} alt={caption || "Photo"} />
      {caption ? <p dir="auto">{caption}</p> : null}
    </div>
  );
}
