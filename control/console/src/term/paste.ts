/** Asks before several lines reach a program that would run each at once (one without bracketed paste). */

import { button, el } from "./dom";
import { say } from "./words";

export function needsAsking(text: string, bracketed: boolean): boolean {
  return !bracketed && /[\r\n]/.test(text.replace(/[\r\n]+$/, ""));
}

/** Shows the text; resolves whether to paste it. */
export function askToPaste(text: string): Promise<boolean> {
  const lines = text.replace(/[\r\n]+$/, "").split(/\r\n|\r|\n/).length;
  return new Promise((resolve) => {
    const close = (yes: boolean) => () => {
      dialog.close();
      dialog.remove();
      resolve(yes);
    };
    const title = el("h2", { id: "paste-title" }, [say("pasteTitle", { n: lines })]);
    const cancel = button(say("cancel"), close(false));
    const yes = button(say("paste"), close(true));
    yes.className = "strong";
    const dialog = el("dialog", { oncancel: close(false) }, [
      title,
      el("p", {}, [say("pasteText")]),
      el("pre", { tabIndex: 0 }, [text.length > 2000 ? `${text.slice(0, 2000)}…` : text]),
      el("div", { class: "buttons" }, [cancel, yes]),
    ]);
    dialog.setAttribute("aria-labelledby", title.id);
    document.body.append(dialog);
    dialog.showModal();
    cancel.focus();
  });
}
