/**
 * Writes output to the screen no faster than it draws. A browser cannot slow a WebSocket down, so what
 * waits is bounded: past the bound the oldest goes, and the screen says how much. State: what waits.
 */

export interface Screen {
  write(data: Uint8Array | string, drawn: () => void): void;
}

const CHUNK = 128 * 1024;

export class Flow {
  private waiting: Uint8Array[] = [];
  private size = 0;
  private skipped = 0;
  private drawing = false;
  private after: (() => void) | null = null;

  constructor(
    private readonly screen: Screen,
    private readonly limitBytes: number,
    private readonly sayNext: (skippedBytes: number) => string,
  ) {}

  put(more: Uint8Array): void {
    this.waiting.push(more);
    this.size += more.length;
    while (this.size > this.limitBytes && this.waiting.length > 1) {
      const oldest = this.waiting.shift()!;
      this.size -= oldest.length;
      this.skipped += oldest.length;
    }
    this.draw();
  }

  /** Calls `act` once everything that came before is on the screen. */
  whenDrawn(act: () => void): void {
    this.after = act;
    this.draw();
  }

  private draw(): void {
    if (this.drawing) return;
    if (!this.waiting.length) return this.settle();
    this.drawing = true;
    const next = this.take();
    if (this.skipped) this.screen.write(this.sayNext(this.skipped), () => undefined);
    this.skipped = 0;
    this.screen.write(next, () => {
      this.drawing = false;
      this.draw();
    });
  }

  private settle(): void {
    const act = this.after;
    this.after = null;
    act?.();
  }

  private take(): Uint8Array {
    const parts: Uint8Array[] = [];
    let size = 0;
    while (this.waiting.length && size < CHUNK) {
      const part = this.waiting.shift()!;
      parts.push(part);
      size += part.length;
    }
    this.size -= size;
    const all = new Uint8Array(size);
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}
