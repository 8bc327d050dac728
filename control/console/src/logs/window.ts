/**
 * A stretch of a log held in memory: whole lines, addressed by number, decoded only when shown.
 * State: the bytes and where its lines start. Offsets are bytes in the whole log.
 */

/** Bytes of one line that are shown; of a longer one its end. */
export const LINE_LIMIT = 64 * 1024;

const NEWLINE = 10;
const RETURN = 13;
const decoder = new TextDecoder("utf-8");

export class LogWindow {
  /** Where in the log the window starts. */
  from = 0;
  private bytes = new Uint8Array(1 << 16);
  private length = 0;
  private starts: number[] = [];

  /** Where in the log the window ends (exclusive). */
  get to(): number {
    return this.from + this.length;
  }

  /** Lines held; the last may still grow. */
  get count(): number {
    return this.starts.length - (this.length > 0 && this.starts.at(-1) === this.length ? 1 : 0);
  }

  reset(from: number): void {
    this.from = from;
    this.length = 0;
    this.starts = [];
  }

  append(more: Uint8Array): void {
    if (!more.length) return;
    this.reserve(this.length + more.length);
    this.bytes.set(more, this.length);
    if (!this.starts.length) this.starts.push(0);
    const base = this.length;
    this.length += more.length;
    for (let at = more.indexOf(NEWLINE); at >= 0; at = more.indexOf(NEWLINE, at + 1)) this.starts.push(base + at + 1);
  }

  /** Puts bytes that end where the window starts before it; returns how many lines came in. */
  prepend(earlier: Uint8Array): number {
    const before = this.count;
    const rest = this.bytes.slice(0, this.length);
    this.reset(this.from - earlier.length);
    this.append(earlier);
    this.append(rest);
    return this.count - before;
  }

  /** Lets go of lines at the start until both bounds hold; returns how many went. */
  dropHead(limitBytes: number, limitLines: number): number {
    const excess = this.length - limitBytes;
    let cut = excess > 0 ? this.firstLineAt(excess) : 0;
    cut = Math.max(cut, this.count - limitLines);
    if (cut <= 0 || cut >= this.starts.length) return 0;
    const shift = this.starts[cut]!;
    this.bytes.copyWithin(0, shift, this.length);
    this.length -= shift;
    this.from += shift;
    this.starts = this.starts.slice(cut).map((start) => start - shift);
    return cut;
  }

  /** The same at the end. */
  dropTail(limitBytes: number, limitLines: number): void {
    const keep = Math.min(limitLines, this.length > limitBytes ? this.firstLineAt(limitBytes) : this.starts.length);
    if (keep <= 0 || keep >= this.starts.length) return;
    this.length = this.starts[keep]!;
    this.starts.length = keep + 1;
  }

  /** The text of line `index` (from 0), without its end; a very long one is cut to its last part. */
  line(index: number): string {
    const start = this.starts[index]!;
    let end = this.starts[index + 1] ?? this.length;
    if (end > start && this.bytes[end - 1] === NEWLINE) end -= 1;
    return decoder.decode(this.bytes.subarray(this.shownFrom(start, end), end));
  }

  /** The number of the line that holds the byte at `offset` of the log. */
  lineAt(offset: number): number {
    return Math.max(0, this.lastLineAt(offset - this.from));
  }

  offsetOf(index: number): number {
    return this.from + (this.starts[index] ?? this.length);
  }

  /** A progress bar without a newline can be megabytes: what counts is after the last returns. */
  private shownFrom(start: number, end: number): number {
    if (end - start <= LINE_LIMIT) return start;
    const tail = end - LINE_LIMIT;
    const turn = this.bytes.subarray(tail, end).indexOf(RETURN);
    if (turn >= 0 && turn < LINE_LIMIT - 1) return tail + turn + 1;
    let at = tail;
    while (at < end && (this.bytes[at]! & 0xc0) === 0x80) at += 1;
    return at;
  }

  private firstLineAt(position: number): number {
    const last = this.lastLineAt(position);
    return this.starts[last] === position ? last : last + 1;
  }

  private lastLineAt(position: number): number {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle]! <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private reserve(wanted: number): void {
    if (wanted <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(wanted, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }
}

/** The whole lines of a piece cut out of a log: what lies before its first newline belongs to an earlier line. */
export function wholeLines(piece: Uint8Array, from: number): { bytes: Uint8Array; from: number } {
  const first = from === 0 ? -1 : piece.indexOf(NEWLINE);
  if (from !== 0 && first < 0) return { bytes: piece, from };
  return { bytes: piece.subarray(first + 1), from: from + first + 1 };
}
