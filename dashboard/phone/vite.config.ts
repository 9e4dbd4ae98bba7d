import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { precompress } from "../build/precompress.ts";

const OUT = fileURLToPath(new URL("../../packages/gatepost-sandbox/src/gatepost_sandbox/page/built", import.meta.url));

export default defineConfig({
  root: import.meta.dirname,
  base: "/page/", // the sandbox serves the page itself at /
  plugins: [precompress(OUT)],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content policy allows no inline script or font
    modulePreload: { polyfill: false },
    target: "es2023",
  },
  test: { testTimeout: 120_000 }, // a limit for tests that hang, not for a busy machine
  server: { proxy: { "/control": "http://127.0.0.1:8081" } },
});
