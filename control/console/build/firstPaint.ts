/** Puts src/theme/first-paint.js as a blocking, hashed script at the top of every page's head. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const SOURCE = fileURLToPath(new URL("../src/theme/first-paint.js", import.meta.url));

export function firstPaint(): Plugin {
  let building = false;
  return {
    name: "first-paint",
    configResolved(config) {
      building = config.command === "build";
    },
    buildStart() {
      if (building) {
        this.emitFile({ type: "asset", name: "first-paint.js", source: readFileSync(SOURCE, "utf8") });
      }
    },
    transformIndexHtml: {
      order: "post",
      handler(html, context) {
        const file = Object.keys(context.bundle ?? {}).find((name) => name.includes("first-paint"));
        const src = file ? urlFrom(context.path, file) : "/src/theme/first-paint.js";
        return { html, tags: [{ tag: "script", attrs: { src }, injectTo: "head-prepend" }] };
      },
    },
  };
}

/** The console serves assets from its root; a job's web terminal serves them below /.starlight/. */
export function urlFrom(page: string, file: string): string {
  return page.endsWith("term.html") ? `/.starlight/${file}` : `/${file}`;
}
