import {
  Badge,
  createTheme,
  Drawer,
  InputWrapper,
  type MantineColorsTuple,
  Modal,
  SegmentedControl,
} from "@mantine/core";

const teal: MantineColorsTuple = [
  "#effcf9",
  "#d3f6ee",
  "#a6ecde",
  "#6fdcca",
  "#3fc4b3",
  "#22a99a",
  "#15897d",
  "#0f6e66",
  "#0f5853",
  "#104945",
];

// Greys of the dark scheme, from text to the darkest background.
const dark: MantineColorsTuple = [
  "#e6e9ec",
  "#bcc4cc",
  "#9aa4ae",
  "#78828d",
  "#3b434b",
  "#2f363d",
  "#23282e",
  "#1a1e22",
  "#15181c",
  "#0f1215",
];

// As Mantine's own, with darker dark shades: text of these colours has to be readable on a light background.
const red: MantineColorsTuple = [
  "#fff5f5",
  "#ffe3e3",
  "#ffc9c9",
  "#ffa8a8",
  "#ff8787",
  "#ff6b6b",
  "#fa5252",
  "#c92a2a",
  "#b02525",
  "#9b1f1f",
];
const orange: MantineColorsTuple = [
  "#fff4e6",
  "#ffe8cc",
  "#ffd8a8",
  "#ffc078",
  "#ffa94d",
  "#ff922b",
  "#fd7e14",
  "#c2500b",
  "#a8430d",
  "#8f3a0f",
];
const yellow: MantineColorsTuple = [
  "#fff9db",
  "#fff3bf",
  "#ffec99",
  "#ffe066",
  "#ffd43b",
  "#fcc419",
  "#fab005",
  "#a86b00",
  "#8f5a00",
  "#764a00",
];

const CLOSE = { closeButtonProps: { "aria-label": "Close" } };

export const theme = createTheme({
  colors: { teal, dark, red, orange, yellow },
  primaryColor: "teal",
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: "md",
  cursorType: "pointer",
  fontFamily: "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace",
  headings: { fontWeight: "650" },
  components: {
    Badge: Badge.extend({
      styles: { root: { textTransform: "none", fontWeight: 600, flexShrink: 0, minWidth: "fit-content" } },
    }),
    Modal: Modal.extend({
      defaultProps: CLOSE,
      classNames: { content: "dialog", header: "dialog", title: "dialog-title" },
    }),
    Drawer: Drawer.extend({
      defaultProps: CLOSE,
      classNames: { content: "dialog", header: "dialog", title: "dialog-title" },
    }),
    SegmentedControl: SegmentedControl.extend({
      styles: { root: { maxWidth: "100%", overflowX: "auto" }, label: { paddingInline: "clamp(4px, 2vw, 12px)" } },
    }),
    InputWrapper: InputWrapper.extend({ defaultProps: { withAsterisk: false } }),
  },
});
