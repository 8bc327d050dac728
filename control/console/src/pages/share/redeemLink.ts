/** Share links: `.../redeem#code=CODE&entry=LABEL`. The secret stands in the fragment, which browsers send to nobody. */

export interface RedeemLink {
  code: string;
  entry: string;
}

/** What a fragment or a whole pasted link names; null when it is neither. */
export function readRedeemLink(text: string): RedeemLink | null {
  const at = text.indexOf("#");
  if (at < 0) return null;
  const found = new URLSearchParams(text.slice(at + 1).trim());
  const code = found.get("code");
  return code ? { code, entry: found.get("entry") ?? "" } : null;
}
