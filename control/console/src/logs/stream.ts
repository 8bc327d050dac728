/** The growing end of a log over its WebSocket; reconnects where it stopped until told to close. */

import { openSocket } from "@/api/http";

export interface LogStream {
  close(): void;
}

interface Hears {
  /** Bytes that follow what came before. */
  bytes(more: Uint8Array): void;
  /** The job has ended and everything is here. */
  end(): void;
  connected(yes: boolean): void;
}

const LONGEST_WAIT_MS = 15_000;

export function openStream(job: string, from: number, hears: Hears): LogStream {
  let at = from;
  let failures = 0;
  let closed = false;
  let socket: WebSocket | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;

  function connect(): void {
    const mine = openSocket(`/jobs/${encodeURIComponent(job)}/logs/stream`, { from: at });
    mine.binaryType = "arraybuffer";
    socket = mine;
    mine.onopen = () => {
      failures = 0;
      hears.connected(true);
    };
    mine.onmessage = (event) => {
      if (closed) return;
      if (typeof event.data === "string") return note(JSON.parse(event.data) as { end?: boolean; from?: number });
      const more = new Uint8Array(event.data as ArrayBuffer);
      at += more.length;
      hears.bytes(more);
    };
    mine.onclose = () => {
      if (closed) return;
      hears.connected(false);
      failures += 1;
      retry = setTimeout(connect, Math.min(LONGEST_WAIT_MS, 500 * 2 ** Math.min(failures, 5)));
    };
  }

  function note(message: { end?: boolean }): void {
    if (!message.end) return;
    close();
    hears.end();
  }

  function close(): void {
    closed = true;
    clearTimeout(retry);
    socket?.close();
  }

  connect();
  return { close };
}
