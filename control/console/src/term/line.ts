/**
 * The connection to the shell: bytes both ways, sizes out, the end in.
 * One Line is one shell; a new connection is a new shell.
 */

export type End =
  | { kind: "exit"; status: string }
  | { kind: "refused"; zh: string; en: string }
  | { kind: "signIn" }
  | { kind: "away" };

interface Hears {
  open(): void;
  bytes(more: Uint8Array): void;
  end(end: End): void;
}

interface Message {
  exit?: { status?: number; signal?: string };
  error?: { code: string; zh: string; en: string };
}

export class Line {
  private readonly socket: WebSocket;
  private readonly encoder = new TextEncoder();
  private opened = false;
  private ended = false;

  constructor(size: { rows: number; cols: number }, private readonly hears: Hears) {
    const url = new URL("/.starlight/terminal", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(url);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      this.opened = true;
      this.resize(size.rows, size.cols);
      hears.open();
    };
    this.socket.onmessage = (event) => this.hear(event.data as string | ArrayBuffer);
    this.socket.onclose = () => void this.closed();
  }

  get isOpen(): boolean {
    return this.socket.readyState === WebSocket.OPEN;
  }

  /** What a person typed, as UTF-8. */
  type(text: string): void {
    if (this.isOpen) this.socket.send(this.encoder.encode(text));
  }

  /** Bytes as they are (mouse reports of old protocols are not UTF-8). */
  send(bytes: Uint8Array): void {
    if (this.isOpen) this.socket.send(bytes as Uint8Array<ArrayBuffer>);
  }

  resize(rows: number, cols: number): void {
    if (this.isOpen) this.socket.send(JSON.stringify({ rows, cols }));
  }

  private hear(data: string | ArrayBuffer): void {
    if (typeof data !== "string") return this.hears.bytes(new Uint8Array(data));
    const message = JSON.parse(data) as Message;
    if (message.exit) this.finish({ kind: "exit", status: message.exit.signal ?? String(message.exit.status ?? 0) });
    else if (message.error) this.finish({ kind: "refused", zh: message.error.zh, en: message.error.en });
  }

  private async closed(): Promise<void> {
    if (this.ended) return;
    this.finish(this.opened ? { kind: "away" } : await whyRefused());
  }

  private finish(end: End): void {
    if (this.ended) return;
    this.ended = true;
    this.hears.end(end);
  }
}

/** A browser does not tell why a WebSocket was refused; the page's own address does. */
async function whyRefused(): Promise<End> {
  try {
    const answer = await fetch("/", { headers: { Accept: "application/json" }, redirect: "manual", cache: "no-store" });
    if (answer.status === 401 || answer.type === "opaqueredirect") return { kind: "signIn" };
    if (answer.ok) return { kind: "away" };
    const problem = (await answer.json()) as { detail?: string; title?: string };
    const text = problem.detail || problem.title || "";
    return text ? { kind: "refused", zh: text, en: text } : { kind: "away" };
  } catch {
    return { kind: "away" };
  }
}
