/** Line drawings on a 16 x 16 field, stroked with the text's colour. `fill` ones are painted instead. */

export interface Drawing {
  path: string;
  fill?: boolean;
  spin?: boolean;
}

export const ICONS = {
  queued: { path: "M3 4h10M3 8h10M3 12h6" },
  creating: { path: "M8 2a6 6 0 1 1-6 6", spin: true },
  closing: { path: "M8 2a6 6 0 1 1-6 6", spin: true },
  running: { path: "M4.500 2.800v10.400L13 8z", fill: true },
  suspended: { path: "M5.500 3v10M10.500 3v10" },
  finished: { path: "M2.800 8.500l3.500 3.500 7-8" },
  failed: { path: "M3.500 3.500l9 9M12.500 3.500l-9 9" },
  create_failed: { path: "M2.500 2.500h11v11h-11zM5.700 5.700l4.600 4.600M10.300 5.700l-4.600 4.600" },
  cancelled: { path: "M3.500 3.500h9v9h-9z" },
  abnormal_exit: { path: "M8 2.300l6.200 11.200H1.800zM8 6.500v3.200M8 11.600v.2" },
  unknown: { path: "M5.300 5.600a2.700 2.700 0 1 1 4 2.400c-.9.500-1.300.9-1.300 1.900M8 12.600v.2" },
  fault: { path: "M9 1.500L3.500 9H8l-1 5.500L12.500 7H8z" },
  search: { path: "M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.400 10.400l3.300 3.300" },
  plus: { path: "M8 3v10M3 8h10" },
  copy: { path: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3" },
  check: { path: "M2.800 8.500l3.500 3.500 7-8" },
  open: { path: "M9.500 2.500h4v4M13.500 2.500L7.500 8.500M11.500 9.500v4h-9v-9h4" },
  share: { path: "M11.500 5.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM4.500 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM11.500 14.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM6.300 7.100l3.400-2.200M6.300 8.900l3.400 2.200" },
  terminal: { path: "M1.500 2.500h13v11h-13zM4 6l2.500 2L4 10M8 10.500h3.500" },
  trash: { path: "M2.500 4.500h11M6 4V2.500h4V4M4 4.500l.7 9h6.600l.7-9M6.700 7v4M9.300 7v4" },
  close: { path: "M4 4l8 8M12 4l-8 8" },
  down: { path: "M4 6l4 4 4-4" },
  up: { path: "M4 10l4-4 4 4" },
  left: { path: "M10 3L5 8l5 5" },
  refresh: { path: "M13 8a5 5 0 1 1-1.500-3.600L13 5.800M13 2.500v3.300H9.700" },
  jobs: { path: "M2.500 3h11M2.500 3v3h11V3M2.500 10h11v3h-11zM5 4.500h.1M5 11.500h.1" },
  key: { path: "M5.500 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM7.600 7.900l5.900-5.900M10.500 5l2 2" },
  people: { path: "M6 7.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM1.500 13.500c0-2.500 2-4 4.500-4s4.500 1.500 4.500 4M10.500 2.800a2.500 2.500 0 0 1 0 4.400M12 9.800c1.500.5 2.500 1.800 2.500 3.700" },
  person: { path: "M8 7.500a2.700 2.700 0 1 0 0-5.400 2.700 2.700 0 0 0 0 5.400zM2.500 14c0-2.800 2.400-4.500 5.500-4.500s5.500 1.700 5.500 4.500" },
  ticket: { path: "M1.500 4h13v2.500a1.500 1.500 0 0 0 0 3V12h-13V9.500a1.500 1.500 0 0 0 0-3zM10 4v8" },
  sun: { path: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1" },
  moon: { path: "M13 9.500A5.500 5.500 0 0 1 6.500 3 5.500 5.500 0 1 0 13 9.500z" },
  screen: { path: "M1.500 2.500h13v8.500h-13zM5.500 13.500h5M8 11v2.500" },
  download: { path: "M8 2v8M4.500 7L8 10.500 11.500 7M2.500 13.500h11" },
  book: { path: "M2 3h4.500A1.500 1.500 0 0 1 8 4.500V13a1.500 1.500 0 0 0-1.500-1.500H2zM14 3H9.500A1.500 1.500 0 0 0 8 4.500V13a1.500 1.500 0 0 1 1.500-1.500H14z" },
  command: { path: "M3 4l4 4-4 4M8.500 12h5" },
  warn: { path: "M8 2.300l6.200 11.200H1.800zM8 6.500v3.200M8 11.600v.2" },
  globe: { path: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM2 8h12M8 2c2 1.700 2.800 3.700 2.800 6S10 12.300 8 14c-2-1.700-2.800-3.700-2.800-6S6 3.700 8 2z" },
  lock: { path: "M3.500 7h9v6.500h-9zM5.500 7V5a2.500 2.500 0 0 1 5 0v2" },
  menu: { path: "M2.500 4h11M2.500 8h11M2.500 12h11" },
} satisfies Record<string, Drawing>;

export type IconName = keyof typeof ICONS;
