import { fileURLToPath, URL } from "node:url";
import vue from "@vitejs/plugin-vue";
import Components from "unplugin-vue-components/vite";
import { ElementPlusResolver } from "unplugin-vue-components/resolvers";
import { defineConfig } from "vitest/config";
import { firstPaint, urlFrom } from "./build/firstPaint.ts";

const api = process.env.STARLIGHT_DEV_API ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [
    vue(),
    Components({ dirs: [], dts: false, resolvers: [ElementPlusResolver({ importStyle: "css" })] }),
    firstPaint(),
  ],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  // One set of files, two homes: the console's root, and /.starlight/ on the host of a web terminal.
  experimental: {
    renderBuiltUrl(file, { hostType, hostId }) {
      return hostType === "html" ? urlFrom(hostId, file) : { relative: true };
    },
  },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    rolldownOptions: { input: ["index.html", "term.html"] },
  },
  server: { proxy: { "/api": { target: api, ws: true } } },
  preview: { proxy: { "/api": { target: api, ws: true } } },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
