import { InvalidArgumentError } from "commander";
import { priorityNames } from "#contract/log-entry.ts";
import type { LogTemplates } from "#contract/log-exploration.ts";
import { counted, countedOf } from "#kernel/text.ts";
import { timeOption } from "../core/log-time.ts";
import type { Connection } from "../core/ports.ts";
import { logStyle } from "../output/log-format.ts";
import type { Io } from "../output/output.ts";
import { printNotShown, printUnread } from "../output/print.ts";
import { printTable } from "../output/table.ts";
import { formatTime } from "../output/text.ts";

/** What changed the packages of the host. */
const updates = ["updates.apply", "packages.change", "updates.rollback"];
const mostOperations = 200;

/** Reads the time of `--new-since`: a word that the service must be asked for, or a time. */
export function newSinceOption(now: () => number): (text: string) => string {
  const time = timeOption(now);
  return (text) => {
    if (text === "boot" || text === "update" || text.startsWith("snapshot:")) return text;
    try {
      return time(text);
    } catch {
      throw new InvalidArgumentError(
        "it must be boot, update, snapshot:ID, or a time such as yesterday, -1h or RFC 3339",
      );
    }
  };
}

/** Reads what `--compare` names, with times as `--since` takes them. */
export function compareOption(now: () => number): (text: string) => string {
  const time = timeOption(now);
  return (text) => {
    if (/^(boot$|boot:|snapshot:)/.test(text)) return text;
    try {
      return text.split("/").map(time).join("/");
    } catch {
      throw new InvalidArgumentError("it must be boot, boot:-1, snapshot:ID, a time such as yesterday, or START/END");
    }
  };
}

/**
 * The time as the service takes it.
 * @returns undefined where there has been no update.
 * @throws as the call of the service.
 */
export async function resolveTimestamp(timestamp: string, { client }: Connection): Promise<string | undefined> {
  if (timestamp !== "update") return timestamp;
  const { operations } = await client.listOperations({ query: { limit: mostOperations } });
  const found = operations.find(({ kind, started_at: startedAt }) => updates.includes(kind) && startedAt !== null);
  return found?.started_at ?? undefined;
}

/** A line for each template: how often, how severe, since when, and what it says. */
export function printTemplates(
  io: Io,
  { templates, distinct, other, total, compared_at: comparedAt, not_shown: missing, unread }: LogTemplates,
): void {
  printTable(io, templates, {
    ...(templates.some(({ status }) => status !== undefined) && {
      status: ({ status = "same" }) => status,
      before: ({ before = 0 }) => String(before),
    }),
    entries: ({ count }) => String(count),
    severity: ({ priority }) =>
      priority === null ? "" : { text: priorityNames[priority] ?? String(priority), style: logStyle({ priority }) },
    first: ({ first }) => formatTime(first),
    id: ({ id }) => id,
    unit: ({ unit }) => unit,
    text: ({ text }) => text,
  });
  const left =
    distinct > templates.length ? `, ${countedOf(templates.length, distinct, "template")} (-n shows more)` : "";
  const rest = other > 0 ? `, ${counted(other, "entry", "entries")} of none` : "";
  const since = comparedAt === undefined ? "" : `, compared at ${formatTime(comparedAt)}`;
  io.err(`-- ${counted(total, "entry", "entries")}${left}${rest}${since} --\n`);
  printNotShown(io.err, missing);
  printUnread(io.err, unread);
}
