/** Drawn symbols; the text beside them or the label of their button says what they mean. */

const PATHS = {
  back: "M15 5l-7 7 7 7",
  send: "M4 12l16-8-5 16-4-6zM11 14l9-10",
  plus: "M12 5v14M5 12h14",
  signal: "M4 19v-2M9 19v-5M14 19v-9M19 19V5",
  minus: "M5 12h14",
  microphone: "M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM5 11a7 7 0 0 0 14 0M12 18v3",
  more: "M12 5.5v.01M12 12v.01M12 18.5v.01",
  close: "M6 6l12 12M18 6L6 18",
  check: "M5 13l4 4L19 7",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4l3 2",
  warning: "M12 4l9 16H3zM12 10v4M12 17v.01",
  picture: "M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 5M15.5 9v.01",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  video: "M4 6h11v12H4zM15 10l5-3v10l-5-3",
  place: "M12 21c5-5 7-8 7-11a7 7 0 0 0-14 0c0 3 2 6 7 11zM12 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20c1-4 4-5 7-5s6 1 7 5",
  play: "M8 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
  list: "M9 6h11M9 12h11M9 18h11M4.5 6v.01M4.5 12v.01M4.5 18v.01",
  reply: "M10 6l-6 6 6 6M4 12h10a6 6 0 0 1 6 6",
  link: "M9 15l6-6M8 12l-2 2a3.5 3.5 0 0 0 5 5l2-2M16 12l2-2a3.5 3.5 0 0 0-5-5l-2 2",
  call: "M6 4l3 0 1.5 4-2 1.5a11 11 0 0 0 6 6l1.5-2 4 1.5v3a2 2 0 0 1-2 2A16 16 0 0 1 4 6a2 2 0 0 1 2-2",
  copy: "M9 9h10v11H9zM5 15V4h10",
  form: "M5 4h14v16H5zM8 9h8M8 13h8M8 17h4",
  cart: "M4 5h2l2 10h9l2-7H7M9.5 19v.01M16.5 19v.01",
  block: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM6.5 6.5l11 11",
  flag: "M6 21V4h11l-2 4 2 4H6",
  bell: "M6 17V11a6 6 0 0 1 12 0v6M4 17h16M10.5 20h3",
  silent: "M6 17V11a6 6 0 0 1 9.5-5M18 11v6M4 17h16M10.5 20h3M4 4l16 16",
  swap: "M7 7h12l-3-3M17 17H5l3 3",
  offline: "M4 4l16 16M8.5 16a5 5 0 0 1 7 0M5 12.5a10 10 0 0 1 4-2.5M19 12.5a10 10 0 0 0-5-2.800M12 19.5v.01",
  eye: "M3 12c3-5 6-7 9-7s6 2 9 7c-3 5-6 7-9 7s-6-2-9-7zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  edit: "M5 19h3L19 8l-3-3L5 16z",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  smile: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM9 14c1.5 2 4.5 2 6 0M9.5 10v.01M14.5 10v.01",
  down: "M6 9l6 6 6-6",
  chat: "M4 5h16v11H10l-5 4v-4H4z",
  tag: "M4 12V4h8l8 8-8 8zM8 8v.01",
  poll: "M5 20V10M12 20V4M19 20v-7",
} as const;

const BOLD = new Set<string>(["more", "signal"]);

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width={BOLD.has(name) ? 3 : 1.8}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/** One or two ticks, or a clock. */
export function TickMarks({ count, seen }: { count: 0 | 1 | 2; seen: boolean }) {
  if (count === 0) return <Icon name="clock" size={14} />;
  return (
    <svg
      class={seen ? "icon ticks seen" : "icon ticks"}
      width={count === 2 ? 21 : 15}
      height="15"
      viewBox={count === 2 ? "0 0 25 18" : "0 0 18 18"}
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={count === 2 ? "M2 10l4 4L15 4M11 13l1 1L22 4" : "M2 10l4 4L15 4"} />
    </svg>
  );
}
