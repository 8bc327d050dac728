/**
 * Share links: `.../redeem#code=CODE&entry=LABEL`. The secret stands in the fragment, which browsers send to nobody.
 * The gateway's page for who has no right adds `back`, the path that the person wanted.
 */

export interface RedeemLink {
  code: string;
  entry: string;
  back: string;
}

/** What a fragment or a whole pasted link names; null when it is neither. */
export function readRedeemLink(text: string): RedeemLink | null {
  const at = text.indexOf("#");
  if (at < 0) return null;
  const found = new URLSearchParams(text.slice(at + 1).trim());
  const code = found.get("code");
  return code ? { code, entry: found.get("entry") ?? "", back: found.get("back") ?? "" } : null;
}

/** Where on the entry's own host a path leads; null for anything that leads elsewhere. */
export function wayBack(url: string | null, back: string): string | null {
  if (!url || !/^https?:/.test(url) || !back.startsWith("/")) return null;
  const home = new URL(url);
  // A path that begins with two slashes names another host.
  const way = new URL(back.replace(/^[/\\]+/, "/"), home);
  return way.origin === home.origin ? way.href : null;
}
