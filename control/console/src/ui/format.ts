/** Times, durations, sizes and counts as people read them. Pure, but for the browser's time zone. */

const TWO = (n: number) => String(n).padStart(2, "0");

/** `2026-12-01 15:04:05` in the browser's zone. */
export function dateTime(at: string): string {
  const d = new Date(at);
  if (Number.isNaN(d.getTime())) return at;
  const day = `${d.getFullYear()}-${TWO(d.getMonth() + 1)}-${TWO(d.getDate())}`;
  return `${day} ${TWO(d.getHours())}:${TWO(d.getMinutes())}:${TWO(d.getSeconds())}`;
}

/** The same with the zone's name and UTC offset, for a hover. */
export function dateTimeZone(at: string): string {
  const minutes = -new Date(at).getTimezoneOffset();
  const size = Math.abs(minutes);
  const offset = `UTC${minutes < 0 ? "-" : "+"}${Math.floor(size / 60)}${size % 60 ? `:${TWO(size % 60)}` : ""}`;
  return `${dateTime(at)} (${Intl.DateTimeFormat().resolvedOptions().timeZone}, ${offset})`;
}

/** `3 d 04:05:06`, `04:05:06`; seconds are whole. `day` is the word for days. */
export function duration(seconds: number, day: string): string {
  const s = Math.max(0, Math.floor(seconds));
  const clock = `${TWO(Math.floor(s / 3600) % 24)}:${TWO(Math.floor(s / 60) % 60)}:${TWO(s % 60)}`;
  const days = Math.floor(s / 86400);
  return days ? `${days} ${day} ${clock}` : clock;
}

/** Binary sizes: `1.5 GiB`. */
export function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = count;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 || Number.isInteger(size) ? size : size.toFixed(size < 10 ? 2 : 1)} ${units[unit]}`;
}

/** Core-hours: two decimals, thousands apart. */
export function coreHours(value: number): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}
