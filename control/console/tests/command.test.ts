/** Command lines split as a shell would, and join back to the same words. */

import { expect, test } from "vitest";
import { joinCommand, needsShell, splitCommand } from "../src/ui/command";

test.each([
  ["python train.py --lr 1e-3", ["python", "train.py", "--lr", "1e-3"]],
  [`echo 'a b' "c d" e\\ f`, ["echo", "a b", "c d", "e f"]],
  [`say "it's \\"here\\""`, ["say", `it's "here"`]],
  [`x ''`, ["x", ""]],
  ["  ", []],
  [`a"b"'c'`, ["abc"]],
])("%j splits", (line, words) => {
  expect(splitCommand(line)).toEqual(words);
});

test.each([`echo "open`, "echo 'open"])("%j has an open quote", (line) => {
  expect(splitCommand(line)).toBeNull();
});

test("joined words split back to themselves", () => {
  const words = ["python", "-c", "print('a  b')", "", "--x=1", "星 光"];
  expect(splitCommand(joinCommand(words))).toEqual(words);
});

test.each(["a | b", "a && b", "x > out", "echo $HOME", "ls *.py", "a\nb"])("%j needs a shell", (line) => {
  expect(needsShell(line)).toBe(true);
});

test.each(["python -m http.server 8000", "echo 'a | b'"])("%j needs none", (line) => {
  expect(needsShell(line)).toBe(false);
});
