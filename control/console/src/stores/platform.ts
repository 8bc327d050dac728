/** What rarely changes: addresses and ports, clusters, apps. State: the last answers. */

import { defineStore } from "pinia";
import { ref } from "vue";
import { platform as calls } from "@/api/calls";
import type { App, Cluster, Platform } from "@/api/types";

export const usePlatform = defineStore("platform", () => {
  const platform = ref<Platform | null>(null);
  const clusters = ref<Cluster[]>([]);
  const apps = ref<App[]>([]);

  /** Fetches all three once; a part that fails stays empty and is asked again the next time. */
  async function load(): Promise<void> {
    const wanted: Promise<unknown>[] = [];
    if (!platform.value) wanted.push(calls.read().then((found) => (platform.value = found)));
    if (!clusters.value.length) wanted.push(calls.clusters().then((found) => (clusters.value = found)));
    if (!apps.value.length) wanted.push(loadApps());
    await Promise.allSettled(wanted);
  }

  async function loadApps(): Promise<void> {
    apps.value = await calls.apps();
  }

  function appTitle(name: string | null): string {
    return apps.value.find((app) => app.name === name)?.title ?? name ?? "";
  }

  return { platform, clusters, apps, load, loadApps, appTitle };
});
