/** How an entry is to be shared, as chosen in the dialog, and as the API is asked. Pure. */

import type { NewShare } from "@/api/types";

export interface Choice {
  /** The owner writes the code; otherwise the platform makes one. */
  own: boolean;
  code: string;
  /** Hours until the code ends; 0 for never. */
  hours: number;
  /** How many people may redeem it, as typed; empty for any number. */
  uses: string;
}

export const ENDS = [0, 1, 24, 168, 720];
const SHORTEST = 8;
const MOST_USES = 1_000_000;

export function newChoice(): Choice {
  return { own: false, code: "", hours: 0, uses: "" };
}

/** Words below `share` in the i18n files, by the API's field. */
export function faultsOfChoice(choice: Choice): Record<string, string> {
  const faults: Record<string, string> = {};
  const uses = choice.uses.trim();
  if (choice.own && choice.code.trim().length < SHORTEST) faults.code = "codeShort";
  if (uses && !(/^\d+$/.test(uses) && Number(uses) >= 1 && Number(uses) <= MOST_USES)) faults.max_uses = "usesForm";
  return faults;
}

export function shareOf(choice: Choice, now: number): NewShare {
  const wish: NewShare = {};
  if (choice.own) wish.code = choice.code.trim();
  if (choice.hours) wish.expires_at = new Date(now + choice.hours * 3_600_000).toISOString();
  if (choice.uses.trim()) wish.max_uses = Number(choice.uses);
  return wish;
}
