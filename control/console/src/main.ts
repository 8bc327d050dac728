/** Starts the console: theme, words, router, then the page. */

import { createPinia } from "pinia";
import { createApp } from "vue";
import App from "./App.vue";
import { i18n, speak, startLanguage, languageIsChosen } from "./i18n";
import { makeRouter } from "./router";
import { followTheme } from "./theme/theme";
import "./theme/tokens.css";
import "element-plus/es/components/base/style/css";
import "./theme/element.css";
import "./theme/page.css";
import { startShortcuts } from "./ui/shortcuts";

async function start(): Promise<void> {
  followTheme();
  startShortcuts();
  const chosen = languageIsChosen();
  if (startLanguage() === "en") await speak("en");
  if (!chosen) localStorage.removeItem("starlight.language");
  const app = createApp(App);
  app.use(createPinia());
  app.use(i18n);
  app.use(makeRouter());
  app.mount("#app");
}

void start();
