/**
 * One line of output as a terminal would leave it: colours kept, `\r` and `\b` applied, other codes taken out.
 * Pure. ECMA-48: CSI (5.4), SGR (8.3.117), EL (8.3.41). A style never outlives its line.
 */

export interface Span {
  text: string;
  /** Space-separated classes: b bold, d dim, i italic, u underline, v inverse, fN / gN one of 16 colours. */
  cls: string;
  /** `rgb(...)` for the 256 and true colours. */
  fg?: string;
  bg?: string;
}

interface Style {
  marks: Set<string>;
  fg: number | string | null;
  bg: number | string | null;
}

// eslint-disable-next-line no-control-regex
const CODE = /\u001b(?:\[([0-?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~]|$)/g;
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0007\u000b-\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;
const MARKS: Record<number, string> = { 1: "b", 2: "d", 3: "i", 4: "u", 7: "v" };
const UNMARKS: Record<number, string[]> = { 22: ["b", "d"], 23: ["i"], 24: ["u"], 27: ["v"] };

/** The spans of a line, left to right. */
export function parseLine(line: string): Span[] {
  const screen = new Screen();
  const style = plain();
  let at = 0;
  for (const code of line.matchAll(CODE)) {
    screen.put(line.slice(at, code.index), style);
    at = code.index + code[0].length;
    if (code[2] === "m") applySgr(style, code[1] ?? "");
    else if (code[2] === "K") screen.erase(code[1] ?? "");
  }
  screen.put(line.slice(at), style);
  return screen.spans();
}

/** The line's text alone, for search and copying. */
export function plainText(line: string): string {
  return parseLine(line).map((span) => span.text).join("");
}

/** The spans cut so that every occurrence of `needle` (in any case) stands in spans with the class `hit`. */
export function markHits(spans: Span[], needle: string): Span[] {
  const wanted = needle.toLowerCase();
  const text = spans.map((span) => span.text).join("").toLowerCase();
  const edges: [number, number][] = [];
  for (let at = text.indexOf(wanted); wanted && at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    edges.push([at, at + wanted.length]);
  }
  return edges.length ? cut(spans, edges) : spans;
}

function cut(spans: Span[], edges: [number, number][]): Span[] {
  const out: Span[] = [];
  let start = 0;
  for (const span of spans) {
    const end = start + span.text.length;
    const points = edges.flat().filter((point) => point > start && point < end);
    for (const [from, to] of pairs([start, ...points, end])) {
      const hit = edges.some(([a, b]) => from >= a && to <= b);
      out.push({ ...span, text: span.text.slice(from - start, to - start), cls: hit ? `${span.cls} hit`.trim() : span.cls });
    }
    start = end;
  }
  return out;
}

function pairs(points: number[]): [number, number][] {
  return points.slice(1).map((point, at) => [points[at]!, point] as [number, number]).filter(([a, b]) => a < b);
}

/** The cells of one screen line. Most lines have no `\r` and never become cells. */
class Screen {
  private cells: { char: string; span: Span }[] = [];
  private column = 0;

  put(text: string, style: Style): void {
    if (!text) return;
    const shown = text.replace(CONTROLS, (char) => String.fromCharCode(0x2400 + Math.min(char.charCodeAt(0), 0x21)));
    const span = spanOf(style);
    for (const char of shown) {
      if (char === "\r") this.column = 0;
      else if (char === "\b") this.column = Math.max(0, this.column - 1);
      else this.cells[this.column++] = { char, span };
    }
  }

  erase(how: string): void {
    if (how === "" || how === "0") this.cells.length = Math.min(this.cells.length, this.column);
    else if (how === "2") this.cells = this.cells.slice(0, this.column).map((cell) => ({ ...cell, char: " " }));
  }

  spans(): Span[] {
    const out: Span[] = [];
    let last: Span | null = null;
    for (const cell of this.cells) {
      if (last !== null && cell.span === last) out[out.length - 1]!.text += cell.char;
      else out.push({ ...cell.span, text: cell.char });
      last = cell.span;
    }
    return out;
  }
}

function plain(): Style {
  return { marks: new Set(), fg: null, bg: null };
}

function spanOf(style: Style): Span {
  const cls = [...style.marks];
  const span: Span = { text: "", cls: "" };
  if (typeof style.bg === "number") cls.push(`g${style.bg}`);
  else if (style.bg) span.bg = style.bg;
  if (typeof style.fg === "number") cls.push(`f${style.fg}`);
  else if (style.fg) span.fg = style.fg;
  span.cls = cls.join(" ");
  return span;
}

function applySgr(style: Style, text: string): void {
  const codes = text.split(/[;:]/).map((code) => Number.parseInt(code || "0", 10));
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at]!;
    if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, at + 1);
      if (code === 38) style.fg = colour;
      else style.bg = colour;
      at += used;
    } else one(style, code);
  }
}

function one(style: Style, code: number): void {
  if (code === 0) Object.assign(style, plain());
  else if (MARKS[code]) style.marks.add(MARKS[code]);
  else if (UNMARKS[code]) UNMARKS[code].forEach((mark) => style.marks.delete(mark));
  else if (code === 39) style.fg = null;
  else if (code === 49) style.bg = null;
  else if (code >= 30 && code <= 37) style.fg = code - 30;
  else if (code >= 40 && code <= 47) style.bg = code - 40;
  else if (code >= 90 && code <= 97) style.fg = code - 82;
  else if (code >= 100 && code <= 107) style.bg = code - 92;
}

/** The colour after 38 or 48, and how many codes it took. */
function extended(codes: number[], at: number): [number | string | null, number] {
  if (codes[at] === 5) return [indexed(codes[at + 1] ?? 0), 2];
  if (codes[at] === 2) return [rgb(codes[at + 1] ?? 0, codes[at + 2] ?? 0, codes[at + 3] ?? 0), 4];
  return [null, 1];
}

function indexed(n: number): number | string {
  if (n < 16) return n;
  if (n >= 232) return rgb(...([8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10] as const));
  const level = (v: number) => (v ? 55 + v * 40 : 0);
  const cube = n - 16;
  return rgb(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

function rgb(r: number, g: number, b: number): string {
  return `rgb(${[r, g, b].map((v) => Math.max(0, Math.min(255, v || 0))).join(" ")})`;
}
