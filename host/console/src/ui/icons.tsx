/** The console's icons: strokes on a grid of 24. */
const PATHS = {
  ask: "M4 5h16v11H9l-5 4z",
  table: "M4 5h16v14H4zM4 10h16M10 10v9",
  field: "M8 4h8v16H8zM8 9h8",
  lineage: "M5 6h4v4H5zM15 4h4v4h-4zM15 16h4v4h-4zM9 8h3v-2h3M12 8v10h3",
  workflow: "M6 4h12v5H6zM6 15h5v5H6zM15 15h4v5h-4zM8.500 9v6M17 9v6",
  run: "M7 5l11 7-11 7z",
  bin: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  database: "M5 6c0-3 14-3 14 0v12c0 3-14 3-14 0zM5 6c0 3 14 3 14 0M5 12c0 3 14 3 14 0",
  engine: "M12 8.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM12 3v3M12 18v3M3 12h3M18 12h3M5.600 5.600l2.100 2.100M16.300 16.300l2.100 2.100M18.400 5.600l-2.100 2.100M7.700 16.300l-2.100 2.100",
  plugin: "M9 3v5M15 3v5M6 8h12v4a6 6 0 0 1-12 0zM12 18v3",
  key: "M14.500 9.500a4.500 4.500 0 1 1-3-4.200 4.500 4.500 0 0 1 3 4.200zM13.500 12l7 7M17 15.500l2-2",
  audit: "M6 3h9l4 4v14H6zM9 11h7M9 15h7M9 7h3",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M14 4.500v5M6 14.500v5",
  search: "M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM15.500 15.500l5 5",
  check: "M5 12.500l4.500 4.500L19 7",
  close: "M6 6l12 12M18 6L6 18",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  more: "M4 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0M11 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0M18 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  refresh: "M20 11a8 8 0 1 0-2 6.500M20 5v6h-6",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  upload: "M12 20V9M7 13l5-5 5 5M5 4h14",
  stop: "M7 7h10v10H7z",
  pause: "M8 5v14M16 5v14",
  edit: "M4 20l1-4L16 5l3 3L8 19z",
  copy: "M9 9h10v11H9zM5 15V4h10",
  up: "M6 15l6-6 6 6",
  good: "M7 11v9H4v-9zM7 11l4-7c2 0 2.500 1.500 2 3l-.800 3H19c1.500 0 1.800 1.200 1.500 2.500l-1.300 5.500c-.300 1.300-1 2-2.200 2H7",
  bad: "M7 13V4H4v9zM7 13l4 7c2 0 2.500-1.500 2-3l-.800-3H19c1.500 0 1.800-1.200 1.500-2.500L19.200 6c-.300-1.300-1-2-2.200-2H7",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M19 5l-1.500 1.500M6.500 17.500L5 19",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4 8.500 8.500 0 1 0 20 14.500z",
  menu: "M4 6h16M4 12h16M4 18h16",
  out: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  warning: "M12 4l9 16H3zM12 10v4M12 17h.01",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.500l3 2",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
