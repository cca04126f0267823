import { InvalidArgumentError } from "commander";
import { logBuckets, logContextLimit } from "#contract/limits.ts";
import { type LogEntry, priorityNames } from "#contract/log-entry.ts";
import {
  isLogFacet,
  type LogContext,
  type LogFacet,
  type LogFacets,
  type LogHistogram,
  logFacets,
} from "#contract/log-exploration.ts";
import { counted } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { type Command, integer } from "../core/command.ts";
import type { Connection } from "../core/ports.ts";
import { logStyle } from "../output/log-format.ts";
import { type Io, printJson } from "../output/output.ts";
import { printNotShown, printUnread } from "../output/print.ts";
import { bar } from "../output/progress.ts";
import type { Cell } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { formatTime } from "../output/text.ts";
import { compareOption, newSinceOption, printTemplates, resolveTimestamp } from "./logs-templates.ts";

/** What is asked of the journal instead of its entries. */
export interface ExploreOptions {
  /** At most so many buckets; true: as many as the service takes by itself. */
  readonly histogram?: number | true;
  /** True: all. */
  readonly facets?: readonly LogFacet[] | true;
  readonly templates?: boolean;
  /** `boot`, `update`, `snapshot:ID` or a time. */
  readonly newSince?: string;
  /** As the service takes it. */
  readonly compare?: string;
  /** A cursor. */
  readonly around?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
  readonly lines?: number | true | "all";
}

/** The filters of `steward logs`, as the service takes them. */
export interface ExploreFilters {
  readonly units?: readonly string[];
  readonly priority?: number;
  readonly since?: string;
  readonly until?: string;
  readonly grep?: string;
  readonly template?: string;
  readonly boot?: string;
  readonly identifier?: string;
  readonly namespace?: string;
}

const bucketCount = integer(logBuckets.minimum, logBuckets.maximum);

function facetNames(text: string): readonly LogFacet[] {
  const names = text.split(",");
  const facets = names.filter(isLogFacet);
  if (facets.length === names.length) return facets;
  throw new InvalidArgumentError(`it must be some of ${logFacets.join(", ")}, separated by commas`);
}

const barColumns = 40;

/** `2 err, 10 warning`: what is worse than a notice. */
function severitiesText(priorities: LogHistogram["buckets"][number]["priorities"]): Cell {
  const levels = Object.entries(priorities)
    .map(([level, count]) => ({ level: Number(level), count }))
    .filter(({ level }) => level < priorityNames.indexOf("notice"));
  const text = levels.map(({ level, count }) => `${count} ${priorityNames[level] ?? level}`).join(", ");
  const worst = Math.min(...levels.map(({ level }) => level));
  return { text, ...(levels.length > 0 && { style: logStyle({ priority: worst }) }) };
}

/** A line for each bucket: its start, how many entries, how many of them are warnings or worse. */
function printHistogram(io: Io, { buckets, total, not_shown: missing, unread }: LogHistogram): void {
  const most = Math.max(1, ...buckets.map((bucket) => bucket.total));
  printTable(io, buckets, {
    from: ({ at }) => formatTime(at),
    entries: (bucket) => String(bucket.total),
    "": (bucket) => bar((100 * bucket.total) / most, barColumns),
    severe: ({ priorities }) => severitiesText(priorities),
  });
  io.err(`-- ${counted(total, "entry", "entries")} --\n`);
  printNotShown(io.err, missing);
  printUnread(io.err, unread);
}

const nameOfLevel = (field: LogFacet, value: string): string =>
  field === "priority" ? (priorityNames[Number(value)] ?? value) : value;

/** A line for each value, the most frequent ones of each field first. */
function printFacets(io: Io, { facets, distinct, total, not_shown: missing, unread }: LogFacets): void {
  const rows = logFacets.flatMap((field) =>
    (facets[field] ?? []).map(({ value, count }) => ({ field, value: nameOfLevel(field, value), count })),
  );
  printTable(io, rows, {
    field: ({ field }) => field,
    entries: ({ count }) => String(count),
    share: ({ count }) => `${total === 0 ? 0 : Math.round((100 * count) / total)} %`,
    value: ({ value }) => value,
  });
  const cut = logFacets.filter(
    (field) => distinct[field] === null || (distinct[field] ?? 0) > (facets[field] ?? []).length,
  );
  const more = cut.length === 0 ? "" : `; there are more values of ${cut.join(", ")} (-n shows more)`;
  io.err(`-- ${counted(total, "entry", "entries")}${more} --\n`);
  printNotShown(io.err, missing);
  printUnread(io.err, unread);
}

/** The options of {@link ExploreOptions} that `steward logs` has beside its own. */
export function addExploreOptions(logs: Command, now: () => number): void {
  logs
    .option("--histogram [buckets]", "number of entries over time by severity, in at most this many steps", bucketCount)
    .option("--facets [names]", `most frequent values of ${logFacets.join(", ")}, or some of them`, facetNames)
    .option("--templates", "templates of repeated messages, and how often each occurs")
    .option(
      "--new-since <time>",
      "templates that are new since the last boot, the last update, a snapshot, or a time: boot, update, snapshot:ID, yesterday",
      newSinceOption(now),
    )
    .option(
      "--compare <what>",
      "templates and how they changed: since boot, snapshot:ID or a time; of the last boot or -b against boot:-1; of -S and -U against START/END",
      compareOption(now),
    )
    .option("--around <cursor>", "an entry and those around it, 10 on either side or as -n says, of all units");
}

const questions = ["histogram", "facets", "templates", "newSince", "compare", "around"] as const;
const nameOf = (question: (typeof questions)[number]): string => (question === "newSince" ? "new-since" : question);

/** Prints templates: all, or those that are new since a time. */
async function exploreTemplates(
  io: Io,
  connection: Connection,
  {
    newSince: timestamp,
    compare,
    filters,
    count,
    json,
  }: Pick<ExploreOptions, "newSince" | "compare"> & {
    readonly filters: ExploreFilters;
    readonly count: number | undefined;
    readonly json: boolean | undefined;
  },
): Promise<void> {
  const since = timestamp === undefined ? undefined : await resolveTimestamp(timestamp, connection);
  if (timestamp !== undefined && since === undefined)
    throw new Error("the service remembers no update (give a time instead of update)");
  const compared = since === undefined ? defined({ compare }) : { compare: since, status: "new" as const };
  const query = { ...filters, ...compared, ...defined({ limit: count }) };
  const answer = await connection.client.getLogTemplates({ query });
  if (json) printJson(io, answer);
  else printTemplates(io, answer);
}

/**
 * Asks what the options want instead of entries, and prints it.
 * @param printer prints an entry, with the fields that it needs.
 * @returns whether something was asked for.
 */
export async function explore(
  { io, connection }: { readonly io: Io; readonly connection: Connection },
  {
    options,
    filters,
    command,
  }: {
    readonly options: ExploreOptions;
    readonly filters: ExploreFilters;
    readonly command: Command;
  },
  { fields, print }: { readonly fields: string | undefined; readonly print: (entry: LogEntry) => Promise<void> | void },
): Promise<boolean> {
  const { histogram, facets, templates, newSince, compare, around, follow, json, lines } = options;
  const { client } = connection;
  const isCompared = newSince !== undefined || compare !== undefined;
  const asked = questions.filter((name) => options[name] !== undefined && !(name === "templates" && isCompared));
  if (asked.length === 0) return false;
  if (follow) command.error(`error: --follow shows entries: it does not go with --${asked.map(nameOf)[0]}`);
  if (asked.length > 1)
    command.error(`error: ${asked.map((name) => `--${nameOf(name)}`).join(", ")}: one of them at a time`);
  const count = typeof lines === "number" ? lines : undefined;
  if (around !== undefined) {
    const most = Math.min(count ?? logContextLimit.default, logContextLimit.maximum);
    const { namespace } = filters;
    const query = { cursor: around, before: most, after: most, ...defined({ fields, namespace }) };
    const answer: LogContext = await client.getLogContext({ query });
    if (json) printJson(io, answer);
    else {
      for (const entry of answer.entries) await print(entry);
      printUnread(io.err, answer.unread);
    }
    return true;
  }
  if (histogram !== undefined) {
    const buckets = histogram === true ? undefined : histogram;
    const answer = await client.getLogHistogram({ query: { ...filters, ...defined({ buckets }) } });
    if (json) printJson(io, answer);
    else printHistogram(io, answer);
    return true;
  }
  if (templates || isCompared) {
    await exploreTemplates(io, connection, { ...defined({ newSince, compare }), filters, count, json });
    return true;
  }
  const names = facets === undefined || facets === true ? undefined : facets.join(",");
  const answer = await client.getLogFacets({ query: { ...filters, ...defined({ fields: names, limit: count }) } });
  if (json) printJson(io, answer);
  else printFacets(io, answer);
  return true;
}
