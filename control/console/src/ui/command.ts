/** A command line to words and back, by the shell's quoting rules (no expansion). Pure. */

/** The words of a line, or null when a quote stays open. */
export function splitCommand(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote: "'" | '"' | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at]!;
    if (quote) {
      if (char === quote) quote = null;
      else if (char === "\\" && quote === '"' && /["\\$`]/.test(line[at + 1] ?? "")) word += line[(at += 1)]!;
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (char === "\\" && at + 1 < line.length) {
      word = (word ?? "") + line[(at += 1)]!;
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (quote) return null;
  if (word !== null) words.push(word);
  return words;
}

export function joinCommand(words: string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** Whether a line holds what only a shell understands: pipes, redirection, variables, several commands. */
export function needsShell(line: string): boolean {
  return /[|&;<>$`\n*?~]/.test(line.replace(/'[^']*'/g, ""));
}
