import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const OUT = "../src/gatepost/console/built";
const COMPRESSIBLE = /\.(js|css|svg|json)$/;
const LEAST = 1400; // bytes: a file that fits into one packet gains nothing

/** Writes a `.br` and a `.gz` beside each text file, so that the gateway need not compress. */
function precompress(): Plugin {
  return {
    name: "precompress",
    apply: "build",
    closeBundle() {
      for (const entry of readdirSync(OUT, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        if (!entry.isFile() || !COMPRESSIBLE.test(path)) continue;
        const plain = readFileSync(path);
        if (plain.length < LEAST) continue;
        writeFileSync(`${path}.gz`, gzipSync(plain, { level: 9 }));
        writeFileSync(`${path}.br`, brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), precompress()],
  html: { cspNonce: "CSP_NONCE" }, // the gateway puts a fresh nonce in its place
  build: {
    outDir: OUT,
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content policy allows no inline script or font
    modulePreload: { polyfill: false },
    target: "es2023",
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/docs": "http://127.0.0.1:8080" } },
});
