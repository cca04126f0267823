import type { Input } from "../../api/call.ts";
import { query, setQuery } from "../../router.tsx";

/** Times that are chosen by name, in minutes. */
const minutesOf = { "15m": 15, "1h": 60, "6h": 360, "24h": 1440, "7d": 10_080 } as const;
export const ranges = ["15m", "1h", "6h", "24h", "7d", "boot", "all", "custom"] as const;
export type Range = (typeof ranges)[number];

/** What the page lists: all of it is in the address. */
export interface Filters {
  readonly range: Range;
  /** With `custom`; the end may be open. */
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly units: readonly string[];
  readonly priority: number | undefined;
  readonly identifier: string | undefined;
  readonly boot: string | undefined;
  readonly namespace: string | undefined;
  readonly grep: string | undefined;
}

const isRange = (text: string | null): text is Range => ranges.some((range) => range === text);

export function filtersOfAddress(): Filters {
  const text = (name: string): string | undefined => query.value.get(name) ?? undefined;
  const asked = query.value.get("range");
  const since = text("since");
  const priority = Number.parseInt(text("priority") ?? "", 10);
  return {
    range: isRange(asked) && asked !== "custom" ? asked : since === undefined ? "1h" : "custom",
    since,
    until: text("until"),
    units: query.value.getAll("unit"),
    priority: priority >= 0 && priority < 7 ? priority : undefined,
    identifier: text("identifier"),
    boot: text("boot"),
    namespace: text("namespace"),
    grep: text("grep"),
  };
}

/** Shows what is between two times. */
export const zoomTo = (since: number, until: number | undefined): void =>
  setQuery(
    {
      range: undefined,
      since: new Date(since).toISOString(),
      until: until === undefined ? undefined : new Date(until).toISOString(),
    },
    { replace: false },
  );

/** Whether entries that are written now belong to the list. */
export const isOpen = ({ range, until }: Filters): boolean => range !== "custom" || until === undefined;

/** Whether the stream sends more than the list takes: it knows one unit, and neither identifiers nor boots. */
export const isFilteredHere = ({ units, identifier, boot }: Filters): boolean =>
  units.length > 1 || identifier !== undefined || boot !== undefined;

/** When the window of a list begins, as far as it is known by itself, and when it ends. */
export function windowOf({ range, since, until }: Filters, now: number): { since?: string; until: string } {
  const end = new Date(now).toISOString();
  if (range === "custom") return { ...(since !== undefined && { since }), until: until ?? end };
  if (range === "boot" || range === "all") return { until: end };
  return { since: new Date(now - minutesOf[range] * 60_000).toISOString(), until: end };
}

/** The filters as the service takes them, without the time. */
export function asked({ units, priority, identifier, boot, namespace, grep, range }: Filters) {
  return {
    ...(units.length > 0 && { units: [...units] }),
    ...(priority !== undefined && { priority }),
    ...(identifier !== undefined && { identifier }),
    ...(boot === undefined ? range === "boot" && { boot: "0" } : { boot }),
    ...(namespace !== undefined && { namespace }),
    ...(grep !== undefined && { grep }),
  } satisfies Input<"listLogs">["query"];
}

const quote = (text: string): string => (/^[\w@.:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** The line of `steward` that lists the same. */
export function lineOf(filters: Filters, since: string | undefined): string {
  const { units, priority, identifier, boot, namespace, grep, range, until } = filters;
  const words = [
    "steward logs",
    ...units.map((unit) => `-u ${quote(unit)}`),
    ...(priority === undefined ? [] : [`-p ${priority}`]),
    ...(identifier === undefined ? [] : [`-t ${quote(identifier)}`]),
    ...(boot === undefined ? (range === "boot" ? ["-b"] : []) : [`-b ${boot}`]),
    ...(namespace === undefined ? [] : [`--namespace ${quote(namespace)}`]),
    ...(grep === undefined ? [] : [`-g ${quote(grep)}`]),
    ...(since === undefined || range === "boot" ? [] : [`-S ${since}`]),
    ...(until === undefined || range !== "custom" ? [] : [`-U ${until}`]),
  ];
  return words.join(" ");
}
