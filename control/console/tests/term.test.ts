/** The terminal's own logic: output is bounded and in order, pasting asks when it should. */

import { expect, test } from "vitest";
import { Flow, type Screen } from "../src/term/flow";

class SlowScreen implements Screen {
  text = "";
  private drawn: (() => void)[] = [];

  write(data: Uint8Array | string, drawn: () => void): void {
    this.text += typeof data === "string" ? data : new TextDecoder().decode(data);
    this.drawn.push(drawn);
  }

  drawAll(): void {
    while (this.drawn.length) this.drawn.shift()!();
  }
}

const bytes = (text: string) => new TextEncoder().encode(text);

test("output is written in order, the next part only when the last is drawn", () => {
  const screen = new SlowScreen();
  const flow = new Flow(screen, 1000, () => "");
  flow.put(bytes("a"));
  flow.put(bytes("b"));
  flow.put(bytes("c"));
  expect(screen.text).toBe("a");
  screen.drawAll();
  expect(screen.text).toBe("abc");
});

test("past the bound the oldest output goes, and the screen says how much", () => {
  const screen = new SlowScreen();
  const flow = new Flow(screen, 10, (skipped) => `[${skipped}]`);
  flow.put(bytes("first"));
  for (const part of ["00000", "11111", "22222"]) flow.put(bytes(part));
  screen.drawAll();
  expect(screen.text).toBe("first[5]1111122222");
});

test("the end waits for what came before it", () => {
  const screen = new SlowScreen();
  const flow = new Flow(screen, 1000, () => "");
  const seen: string[] = [];
  flow.put(bytes("last words"));
  flow.whenDrawn(() => seen.push(screen.text));
  expect(seen).toEqual([]);
  screen.drawAll();
  expect(seen).toEqual(["last words"]);
});
