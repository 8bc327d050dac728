/** Pieces of a job's log by byte range. */

import { raw } from "@/api/http";

export interface Piece {
  bytes: Uint8Array;
  from: number;
  /** Bytes of the whole log when asked. */
  length: number;
}

/** `from` below 0 counts from the end. */
export async function fetchPiece(job: string, from: number, limit: number, signal?: AbortSignal): Promise<Piece> {
  const answer = await raw("GET", `/jobs/${encodeURIComponent(job)}/logs`, { query: { from, limit }, signal });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const start = Number(answer.headers.get("X-Log-From") ?? Math.max(0, from));
  return { bytes, from: start, length: Number(answer.headers.get("X-Log-Length") ?? start + bytes.length) };
}

const PART = 8 << 20;

/** Fetches the whole log and hands it to the browser as a file. `progress` hears the share that is here. */
export async function download(job: string, progress: (share: number) => void): Promise<void> {
  const parts: BlobPart[] = [];
  let at = 0;
  for (;;) {
    const piece = await fetchPiece(job, at, PART);
    parts.push(piece.bytes as BlobPart);
    at += piece.bytes.length;
    progress(piece.length ? at / piece.length : 1);
    if (!piece.bytes.length || at >= piece.length) break;
  }
  const url = URL.createObjectURL(new Blob(parts, { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${job}.log`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
