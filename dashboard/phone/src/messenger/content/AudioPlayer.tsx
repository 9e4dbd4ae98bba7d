import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { duration } from "../logic/times";
import { BARS, LARGEST, readSound, type Sound } from "../logic/waveform";
import { Icon } from "../ui/Icon";

const FLAT = Array.from({ length: BARS }, () => 0.12);

interface Props {
  url: string;
  voice: boolean;
  blob?: Blob;
  size?: number | null | undefined;
  onPlay?: (() => void) | undefined;
}

/** A player for voice messages and other sounds: play, progress, how long. */
export function AudioPlayer({ url, voice, blob, size, onPlay }: Props) {
  const audio = useRef<HTMLAudioElement>(null);
  const playing = useSignal(false);
  const at = useSignal(0);
  const length = useSignal(0);
  const failed = useSignal(false);
  const sound = useSignal<Sound | null>(null);
  useEffect(() => {
    let shown = true;
    if (size && size > LARGEST) return;
    readSound(blob ?? url).then((read) => {
      if (!shown || !read) return;
      sound.value = read;
      length.value = read.seconds;
    });
    return () => {
      shown = false;
    };
  }, [url, blob, size, sound, length]);
  const toggle = () => {
    const player = audio.current;
    if (!player) return;
    if (player.paused)
      player.play().catch(() => {
        failed.value = true;
      });
    else player.pause();
  };
  const word = voice ? "voice message" : "audio";
  return (
    <div class="audio-player">
      {/* biome-ignore lint/a11y/useMediaCaption: what strangers send has no captions */}
      <audio
        ref={audio}
        src={url}
        preload="metadata"
        onPlay={() => {
          playing.value = true;
          onPlay?.();
        }}
        onPause={() => (playing.value = false)}
        onEnded={() => (at.value = 0)}
        onTimeUpdate={(event) => (at.value = event.currentTarget.currentTime)}
        onError={() => (failed.value = true)}
        onLoadedMetadata={(event) => {
          const { duration: known } = event.currentTarget;
          if (Number.isFinite(known) && known > 0) length.value = known;
        }}
      />
      <button
        type="button"
        class="play"
        aria-label={`${playing.value ? "Pause" : "Play"} ${word}`}
        onClick={toggle}
        disabled={failed.value}
      >
        <Icon name={playing.value ? "pause" : "play"} size={22} />
      </button>
      <div class="wave">
        <Bars bars={sound.value?.bars ?? FLAT} share={length.value ? at.value / length.value : 0} />
        <input
          type="range"
          aria-label={`Position in the ${word}`}
          aria-valuetext={`${duration(at.value)} of ${duration(length.value)}`}
          min={0}
          max={Math.max(length.value, 0.1)}
          step={0.1}
          value={at.value}
          disabled={!length.value}
          onInput={(event) => {
            at.value = Number(event.currentTarget.value);
            if (audio.current) audio.current.currentTime = at.value;
          }}
        />
      </div>
      <span class="audio-time">
        {failed.value ? (
          <a href={url} download>
            Save
          </a>
        ) : (
          duration(at.value || length.value)
        )}
      </span>
    </div>
  );
}

function Bars({ bars, share }: { bars: number[]; share: number }) {
  return (
    <svg class="bars" viewBox={`0 0 ${bars.length * 4} 28`} preserveAspectRatio="none" aria-hidden="true">
      {bars.map((bar, index) => {
        const height = Math.max(3, bar * 26);
        const played = (index + 0.5) / bars.length <= share;
        return (
          <rect
            class={played ? "played" : ""}
            x={index * 4 + 0.5}
            y={14 - height / 2}
            width="2.6"
            height={height}
            rx="1.3"
          />
        );
      })}
    </svg>
  );
}
