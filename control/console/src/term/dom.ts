/** Elements without a framework: this page is one terminal and a bar. */

type Children = (Node | string)[];

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> & { class?: string } = {},
  children: Children = [],
): HTMLElementTagNameMap[K] {
  const { class: cls, ...rest } = properties;
  const made = Object.assign(document.createElement(tag), rest);
  if (cls) made.className = cls;
  made.append(...children);
  return made;
}

export function button(label: string, act: () => void, text = label): HTMLButtonElement {
  const made = el("button", { type: "button", title: label, onclick: act }, [text]);
  if (text !== label) made.setAttribute("aria-label", label);
  return made;
}
