/**
 * What changes, as it changes: one WebSocket a tab, reconnected from the last revision it saw.
 * State: the connection, its revision, and how fresh the data is.
 */

import { computed, ref } from "vue";
import { openSocket } from "./http";
import type { Job } from "./types";

interface Listener {
  jobs?: (jobs: Job[]) => void;
  shared?: () => void;
  /** What happened meanwhile is unknown: fetch again what is shown. */
  reset?: () => void;
}
interface Message {
  hello?: { revision: number; reset: boolean };
  revision?: number;
  jobs?: Job[];
  shared?: boolean;
  tick?: string;
}

const SILENCE_MS = 40_000;
const LONGEST_WAIT_MS = 15_000;
const SESSION_ENDED = 4401;

const listeners = new Set<Listener>();
let socket: WebSocket | null = null;
let revision = 0;
let failures = 0;
let retry: ReturnType<typeof setTimeout> | undefined;
let silence: ReturnType<typeof setTimeout> | undefined;
let sessionEnded: () => void = () => undefined;
let inDoubt: () => void = () => undefined;

export const connected = ref(false);
export const retryAt = ref<number | null>(null);
export const liveState = computed(() => (connected.value ? "live" : retryAt.value ? "waiting" : "connecting"));

/** Hears changes until the returned function is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Opens the connection. `ended` is called when the server says that the session is over; `doubt` when it did not
 * let the page in twice, for which a browser gives no reason: somebody should ask whether the session still is.
 */
export function startLive(ended: () => void, doubt: () => void): void {
  sessionEnded = ended;
  inDoubt = doubt;
  stopLive();
  connect();
}

export function stopLive(): void {
  clearTimeout(retry);
  clearTimeout(silence);
  const old = socket;
  socket = null;
  old?.close();
  connected.value = false;
  retryAt.value = null;
  failures = 0;
}

/** Tries at once, for people who do not want to wait for the next attempt. */
export function retryNow(): void {
  if (connected.value || (socket && socket.readyState === WebSocket.CONNECTING)) return;
  clearTimeout(retry);
  connect();
}

function connect(): void {
  retryAt.value = null;
  const mine = openSocket("/live", { from: revision || null });
  socket = mine;
  mine.onmessage = (event) => mine === socket && hear(JSON.parse(String(event.data)));
  mine.onclose = (event) => mine === socket && lost(event.code);
  watchSilence(mine);
}

function hear(message: Message): void {
  if (socket) watchSilence(socket);
  if (message.hello) {
    connected.value = true;
    const missed = revision !== 0 && message.hello.reset;
    const first = revision === 0 && failures > 0;
    failures = 0;
    revision = message.hello.revision;
    if (missed || first) tell((listener) => listener.reset?.());
    return;
  }
  if (message.revision) revision = message.revision;
  if (message.jobs?.length) tell((listener) => listener.jobs?.(message.jobs ?? []));
  if (message.shared) tell((listener) => listener.shared?.());
}

function lost(code: number): void {
  connected.value = false;
  clearTimeout(silence);
  socket = null;
  if (code === SESSION_ENDED) return sessionEnded();
  failures += 1;
  if (failures === 2) inDoubt();
  const wait = Math.min(LONGEST_WAIT_MS, 500 * 2 ** Math.min(failures, 6)) * (0.75 + Math.random() / 2);
  retryAt.value = Date.now() + wait;
  retry = setTimeout(connect, wait);
}

// The server ticks every 15 s; a line that is silent for longer is dead though nobody told us.
function watchSilence(watched: WebSocket): void {
  clearTimeout(silence);
  silence = setTimeout(() => {
    if (watched !== socket) return;
    watched.onclose = null;
    watched.close();
    lost(1006);
  }, SILENCE_MS);
}

function tell(say: (listener: Listener) => void): void {
  for (const listener of [...listeners]) say(listener);
}
