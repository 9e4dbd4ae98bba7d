import react from "@vitejs/plugin-react";
import { configDefaults, defineConfig } from "vitest/config";
import { precompress } from "./build/precompress.ts";

const OUT = "../src/gatepost/console/built";

export default defineConfig({
  plugins: [react(), precompress(OUT)],
  html: { cspNonce: "CSP_NONCE" }, // the gateway puts a fresh nonce in its place
  build: {
    outDir: OUT,
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content policy allows no inline script or font
    modulePreload: { polyfill: false },
    target: "es2023",
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/docs": "http://127.0.0.1:8080" } },
  test: {
    exclude: [...configDefaults.exclude, "phone/**"], // a project of its own: another JSX library
    testTimeout: 120_000, // a limit for tests that hang, not for a busy machine
  },
});
