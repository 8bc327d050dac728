/** Looks for text in a whole log, line by line, forward or back, without holding it in memory. */

import { fetchPiece } from "./fetch";
import { plainText } from "./ansi";
import { LogWindow, wholeLines } from "./window";

const STEP = 2 << 20;

export interface Search {
  job: string;
  needle: string;
  /** Look at lines that start at or after this offset (forward), or end at or before it (back). */
  at: number;
  back: boolean;
  signal: AbortSignal;
  progress: (offset: number) => void;
}

/** The offset of the first line found, or null when there is none in that direction. */
export async function findLine(search: Search): Promise<number | null> {
  const needle = search.needle.toLowerCase();
  let edge = search.at;
  let step = STEP;
  for (;;) {
    const from = search.back ? Math.max(0, edge - step) : edge;
    const limit = search.back ? edge - from : step;
    if (limit <= 0) return null;
    const piece = await fetchPiece(search.job, from, limit, search.signal);
    if (!piece.bytes.length) return null;
    const { window, end } = linesOf(piece, search.back);
    const found = findIn(window, needle, search.back);
    if (found !== null) return window.offsetOf(found);
    const next = search.back ? window.from : end;
    // A line longer than the step gives no whole line: look at more of it at once.
    step = next === edge ? step * 2 : STEP;
    if (next === edge && step > 16 << 20) return null;
    edge = next;
    search.progress(edge);
    if (search.back ? edge <= 0 : edge >= piece.length) return null;
  }
}

/** Whole lines only, so that none is judged by half; the last line of the log counts though it has no end yet. */
function linesOf(piece: { bytes: Uint8Array; from: number; length: number }, back: boolean) {
  const whole = back ? wholeLines(piece.bytes, piece.from) : piece;
  const atEnd = piece.from + piece.bytes.length >= piece.length;
  const last = whole.bytes.lastIndexOf(10);
  const bytes = back || atEnd ? whole.bytes : whole.bytes.subarray(0, last + 1);
  const window = new LogWindow();
  window.reset(whole.from);
  window.append(bytes);
  return { window, end: whole.from + bytes.length };
}

export function findIn(window: LogWindow, needle: string, back: boolean, start?: number): number | null {
  const step = back ? -1 : 1;
  for (let at = start ?? (back ? window.count - 1 : 0); at >= 0 && at < window.count; at += step) {
    if (plainText(window.line(at)).toLowerCase().includes(needle)) return at;
  }
  return null;
}
