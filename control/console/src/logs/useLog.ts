/**
 * The part of a log that is looked at: it starts at the end, grows with the job, and moves with the reader.
 * At the end of the log the stream feeds it; elsewhere pieces are fetched as the reader nears an edge.
 */

import { computed, onScopeDispose, ref, shallowRef } from "vue";
import { fetchPiece } from "./fetch";
import { openStream, type LogStream } from "./stream";
import { LogWindow, wholeLines } from "./window";

const PIECE = 512 * 1024;
const LIMIT_BYTES = 8 << 20;
const LIMIT_LINES = 400_000;

export function useLog(job: string, ended: () => boolean) {
  const window = new LogWindow();
  /** Raised whenever the window changes (it is not reactive itself, for speed); 0 before there is anything. */
  const version = ref(0);
  const length = ref(0);
  const atEnd = ref(false);
  const complete = ref(false);
  const connected = ref(true);
  const loaded = ref(false);
  const problem = shallowRef<unknown>(null);
  const following = ref(true);
  let stream: LogStream | null = null;
  let busy = false;
  let stopped = new AbortController();

  const from = computed(() => (version.value ? window.from : 0));
  const to = computed(() => (version.value ? window.to : 0));
  const count = computed(() => (version.value ? window.count : 0));

  onScopeDispose(() => {
    stopped.abort();
    stream?.close();
  });

  async function guarded(act: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const signal = stopped.signal;
    busy = true;
    try {
      await act(signal);
      problem.value = null;
    } catch (fault) {
      if (!signal.aborted) problem.value = fault;
    } finally {
      busy = false;
      loaded.value = true;
      version.value += 1;
    }
  }

  /** Goes somewhere else: what was under way for the old place is dropped. */
  function leave(): void {
    stopped.abort();
    stopped = new AbortController();
    stream?.close();
    stream = null;
    atEnd.value = false;
  }

  async function toEnd(): Promise<void> {
    leave();
    await guarded(async (signal) => {
      const piece = await fetchPiece(job, -PIECE, PIECE, signal);
      show(piece);
      arriveAtEnd();
    });
  }

  async function toOffset(offset: number): Promise<void> {
    leave();
    await guarded(async (signal) => {
      const piece = await fetchPiece(job, Math.max(0, offset - PIECE), 2 * PIECE, signal);
      show(piece);
      if (window.to >= length.value) arriveAtEnd();
    });
  }

  function show(piece: { bytes: Uint8Array; from: number; length: number }): void {
    const whole = wholeLines(piece.bytes, piece.from);
    window.reset(whole.from);
    window.append(whole.bytes);
    length.value = piece.length;
  }

  /** Loads what lies before the window; returns the lines that came in above. */
  async function earlier(): Promise<number> {
    if (busy || window.from === 0 || !loaded.value) return 0;
    let lines = 0;
    await guarded(async (signal) => {
      const start = Math.max(0, window.from - PIECE);
      const piece = await fetchPiece(job, start, window.from - start, signal);
      if (signal.aborted) return;
      lines = window.prepend(wholeLines(piece.bytes, piece.from).bytes);
      const end = window.to;
      window.dropTail(LIMIT_BYTES, LIMIT_LINES);
      if (window.to < end) leaveEnd();
    });
    return lines;
  }

  /** Loads what lies behind the window; returns the lines that went away above. */
  async function later(): Promise<number> {
    if (busy || atEnd.value || !loaded.value) return 0;
    let lines = 0;
    await guarded(async (signal) => {
      const piece = await fetchPiece(job, window.to, PIECE, signal);
      if (signal.aborted) return;
      window.append(piece.bytes);
      length.value = piece.length;
      lines = window.dropHead(LIMIT_BYTES, LIMIT_LINES);
      if (window.to >= length.value) arriveAtEnd();
    });
    return lines;
  }

  function arriveAtEnd(): void {
    atEnd.value = true;
    if (complete.value) return;
    stream = openStream(job, window.to, {
      bytes: grow,
      connected: (yes) => (connected.value = yes || ended()),
      end: () => {
        complete.value = true;
        connected.value = true;
      },
    });
  }

  function leaveEnd(): void {
    stream?.close();
    stream = null;
    atEnd.value = false;
  }

  function grow(more: Uint8Array): void {
    window.append(more);
    length.value = Math.max(length.value, window.to);
    // A reader who stands still must not have lines taken away above: then the stream waits instead.
    if (following.value) window.dropHead(LIMIT_BYTES, LIMIT_LINES);
    else if (window.to - window.from > 2 * LIMIT_BYTES || window.count > LIMIT_LINES) leaveEnd();
    version.value += 1;
  }

  return { window, version, from, to, count, length, atEnd, complete, connected, loaded, problem, following, toEnd, toOffset, earlier, later };
}
