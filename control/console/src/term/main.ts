/** The web terminal of a job: one shell at a time on one screen, whose text outlives a lost connection. */

import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { chooseTheme, followTheme } from "@/theme/theme";
import "@/theme/tokens.css";
import { copyText } from "@/ui/copy";
import { bytes } from "@/ui/format";
import { Bar } from "./bar";
import { el } from "./dom";
import { Flow } from "./flow";
import { Line, type End } from "./line";
import { fontOfPage, keepSize, readSize, themeOfPage } from "./look";
import { askToPaste, needsAsking } from "./paste";
import "./term.css";
import { inEnglish, say } from "./words";

const WAITING_LIMIT = 16 << 20;

const terminal = new Terminal({
  allowProposedApi: true, // unicode11 widths are behind it
  cursorBlink: false,
  fontFamily: fontOfPage(),
  fontSize: readSize(),
  lineHeight: 1.2, // at 1.0 the cell cuts off what lies lowest: underscores vanish
  scrollback: 20_000,
  theme: themeOfPage(),
});
const fit = new FitAddon();
const search = new SearchAddon();
const flow = new Flow(terminal, WAITING_LIMIT, (size) => notice(say("skipped", { size: bytes(size) })));
const bar = new Bar({ find, resize: resizeText, theme: toggleTheme, reconnect: again, focus: () => terminal.focus() });
let line: Line | null = null;
let ended: End | null = null;

function start(): void {
  const box = el("main", { class: "box" });
  box.setAttribute("aria-label", say("title"));
  document.getElementById("terminal-page")!.append(bar.root, box);
  for (const addon of [fit, search, new Unicode11Addon()]) terminal.loadAddon(addon);
  terminal.unicode.activeVersion = "11";
  terminal.open(box);
  bar.name("");
  listen(box);
  fit.fit();
  connect();
  terminal.focus();
}

function listen(box: HTMLElement): void {
  terminal.onData(typed);
  terminal.onBinary((data) => line?.send(Uint8Array.from(data, (char) => char.charCodeAt(0))));
  terminal.onResize(({ rows, cols }) => line?.resize(rows, cols));
  terminal.onTitleChange((title) => bar.name(title));
  terminal.attachCustomKeyEventHandler(key);
  box.addEventListener("paste", (event) => void pasted(event), { capture: true });
  new ResizeObserver(() => fit.fit()).observe(box);
  followTheme();
  const repaint = () => (terminal.options.theme = themeOfPage());
  new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  // Ctrl+W deletes a word in a shell and closes a window in a browser.
  addEventListener("beforeunload", (event) => line?.isOpen && !ended && event.preventDefault());
}

function connect(): void {
  ended = null;
  bar.show(say("connecting"), "wait", null);
  const mine: Line = new Line({ rows: terminal.rows, cols: terminal.cols }, {
    open: () => mine === line && bar.show(say("live"), "live", null),
    bytes: (more) => mine === line && flow.put(more),
    end: (end) => mine === line && finish(end),
  });
  line = mine;
}

function finish(end: End): void {
  ended = end;
  const text = sentence(end);
  bar.show(text, "gone", end.kind === "signIn" ? say("signInNow") : say("reconnect"));
  flow.whenDrawn(() => {
    // A full-screen program that was cut leaves its own screen up; the mouse and the cursor come back too.
    if (terminal.buffer.active.type === "alternate") terminal.write("\x1b[?1049l");
    terminal.write(`\x1b[?1000;1002;1003;1006l\x1b[?2004l\x1b[?25h${notice(text)}`);
    if (end.kind !== "signIn") terminal.write(notice(say("awayText")));
  });
}

function sentence(end: End): string {
  if (end.kind === "exit") return say("ended", { status: end.status });
  if (end.kind === "refused") return inEnglish ? end.en : end.zh;
  return say(end.kind === "signIn" ? "signIn" : "away");
}

function notice(text: string): string {
  return `\r\n\x1b[0m\x1b[2m[ ${text} ]\x1b[0m\r\n`;
}

/** A new shell below what is there; after a lost session the gateway leads through the sign-in and back. */
function again(): void {
  if (ended?.kind === "signIn") return location.reload();
  if (ended) connect();
  terminal.focus();
}

function typed(data: string): void {
  if (!ended) return line?.type(data);
  if (data === "\r") again();
}

function key(event: KeyboardEvent): boolean {
  if (event.type !== "keydown" || !event.ctrlKey || !event.shiftKey) return true;
  const act = { KeyC: copy, KeyV: paste, KeyF: () => bar.openFinder(), Escape: () => bar.enter() }[event.code];
  if (!act) return true;
  event.preventDefault();
  void act();
  return false;
}

async function copy(): Promise<void> {
  const text = terminal.getSelection();
  if (!text || !(await copyText(text))) return;
  bar.say(say("copied"));
  terminal.focus();
}

async function paste(): Promise<void> {
  // Where the browser gives no clipboard (plain http), its own Ctrl+V still pastes.
  const text = await navigator.clipboard?.readText().catch(() => "");
  if (text) await put(text);
}

async function pasted(event: ClipboardEvent): Promise<void> {
  const text = event.clipboardData?.getData("text/plain") ?? "";
  if (!needsAsking(text, terminal.modes.bracketedPasteMode)) return;
  event.preventDefault();
  event.stopPropagation();
  await put(text);
}

async function put(text: string): Promise<void> {
  if (needsAsking(text, terminal.modes.bracketedPasteMode) && !(await askToPaste(text))) return terminal.focus();
  terminal.paste(text);
  terminal.focus();
}

function find(text: string, back: boolean): boolean {
  return back ? search.findPrevious(text) : search.findNext(text);
}

function resizeText(by: number): void {
  terminal.options.fontSize = keepSize(terminal.options.fontSize! + by);
  fit.fit();
}

function toggleTheme(): void {
  chooseTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

start();
