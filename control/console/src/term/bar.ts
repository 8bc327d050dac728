/** The bar above the terminal: name, state, find, text size, theme. Made once; `show` changes it. */

import { button, el } from "./dom";
import { say } from "./words";

export interface BarActs {
  find(text: string, back: boolean): boolean;
  resize(by: number): void;
  theme(): void;
  reconnect(): void;
  focus(): void;
}

export class Bar {
  readonly root: HTMLElement;
  private readonly state = el("span", { class: "state" });
  private readonly note = el("span", { class: "note" });
  private readonly title = el("strong", {}, [say("title")]);
  private readonly again: HTMLButtonElement;
  private readonly box: HTMLInputElement;
  private readonly finder: HTMLElement;

  constructor(private readonly acts: BarActs) {
    this.state.setAttribute("role", "status");
    this.note.setAttribute("role", "status");
    this.again = button(say("reconnect"), () => acts.reconnect());
    this.again.className = "strong";
    this.box = el("input", { type: "search", placeholder: say("searchIn") });
    this.box.setAttribute("aria-label", say("searchIn"));
    this.box.onkeydown = (event) => this.key(event);
    this.finder = el("span", { class: "finder", hidden: true }, [
      this.box,
      button(say("previous"), () => this.find(true), "↑"),
      button(say("next"), () => this.find(false), "↓"),
      button(say("close"), () => this.closeFinder(), "×"),
    ]);
    this.root = el("header", {}, [
      this.title,
      this.state,
      this.again,
      el("span", { class: "spacer" }),
      this.note,
      this.finder,
      button(say("search"), () => this.openFinder()),
      button(say("smaller"), () => acts.resize(-1), "A−"),
      button(say("larger"), () => acts.resize(1), "A+"),
      button(say("theme"), () => acts.theme(), "◐"),
    ]);
    this.root.title = say("help");
    this.root.setAttribute("aria-label", say("tools"));
  }

  show(text: string, state: "live" | "wait" | "gone", again: string | null): void {
    this.state.textContent = text;
    this.state.dataset.state = state;
    this.again.hidden = again === null;
    this.again.textContent = again ?? "";
    this.again.title = again ?? "";
  }

  name(text: string): void {
    this.title.textContent = text || say("title");
    document.title = text || say("title");
  }

  say(text: string): void {
    this.note.textContent = text;
    setTimeout(() => (this.note.textContent = ""), 2500);
  }

  openFinder(): void {
    this.finder.hidden = false;
    this.box.focus();
    this.box.select();
  }

  /** Where keyboard users land when they leave the terminal. */
  enter(): void {
    this.root.querySelector<HTMLElement>("button:not([hidden])")?.focus();
  }

  private closeFinder(): void {
    this.finder.hidden = true;
    this.acts.focus();
  }

  private find(back: boolean): void {
    if (this.box.value && !this.acts.find(this.box.value, back)) this.say(say("noMatch"));
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === "Enter") this.find(event.shiftKey);
    else if (event.key === "Escape") this.closeFinder();
  }
}
