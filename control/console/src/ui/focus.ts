/** Puts the focus on the first thing to fill in of the dialog that just opened. */
export function focusField(): void {
  const dialog = [...document.querySelectorAll<HTMLElement>(".el-dialog")].at(-1);
  const field = "input[type=radio]:checked, input:not([type=radio], [type=checkbox], [readonly]), textarea";
  dialog?.querySelector<HTMLElement>(field)?.focus();
}
