import { compileUnitPattern } from "#domain/logs/unit-pattern.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { isBootId } from "./boots.ts";
import { compileGrep } from "./grep-postings.ts";
import type { JournalRecord } from "./journalctl-entry.ts";

export interface Selection {
  readonly options: readonly string[];
  readonly passes: (record: JournalRecord) => boolean;
}

/** With the least severe one there is no filter, as with `journalctl -p debug`. */
const leastSevere = 7;
/** The kernel takes two megabytes of arguments; far more units than that are looked for here. */
const maxUnitOptions = 256;
/** Names and patterns that `--unit` takes as they are; it makes others over into what it takes for a name. */
const plainName = /^[A-Za-z0-9:_.\\@-]+\.(?:automount|device|mount|path|scope|service|slice|socket|swap|target|timer)$/;
const plainPattern = /^(?=.*[*?[])[A-Za-z0-9:_.\\@[\]!*?-]+$/;

/**
 * How far before the window journalctl is told to begin. It finds the place by bisection, which is exact while time only
 * grows within a file: journald begins a new file when the clock goes back. Files that others wrote, such as those of
 * systemd-journal-remote, may step back a little.
 */
const marginSeconds = 3600;

function selectUnits(units: readonly string[] | undefined): Selection {
  const all = { options: [], passes: () => true };
  if (units === undefined) return all;
  if (units.length === 1 && units[0] === "kernel") return { ...all, options: ["_TRANSPORT=kernel"] };
  // What is of a unit and of the kernel is what journalctl shows where both are asked for, not what is of either; so the
  // kernel's name is not a plain one.
  const isPlain =
    units.length <= maxUnitOptions && units.every((unit) => plainName.test(unit) || plainPattern.test(unit));
  if (isPlain) return { ...all, options: units.map((unit) => `--unit=${unit}`) };
  const fits = units.map(compileUnitPattern);
  return { ...all, passes: ({ live }) => live.units.some((unit) => fits.some((matches) => matches(unit))) };
}

function selectIdentifier(identifier: string | undefined): Selection {
  if (identifier === undefined) return { options: [], passes: () => true };
  // An argument cannot hold a NUL; a field can.
  if (identifier === "" || identifier.includes("\0")) {
    return { options: [], passes: ({ identifiers }) => identifiers.includes(identifier) };
  }
  return { options: [`--identifier=${identifier}`], passes: () => true };
}

/** `--until` is never passed: journalctl stops at the first entry that is past it, though the clock may go back after. */
function selectWindow({ since, until }: Pick<LogQuery, "since" | "until">): Selection {
  const begin = Math.floor(since / 1_000_000) - marginSeconds;
  return {
    options: begin > 0 ? [`--since=@${begin}`] : [],
    passes: ({ location: { realtime } }) => realtime >= since && realtime <= until,
  };
}

/** @returns undefined for what cannot be the id of a boot, which no entry bears. */
function bootOption(boot: string): string | undefined {
  const id = boot.replaceAll("-", "").toLowerCase();
  return isBootId(id) ? `_BOOT_ID=${id}` : undefined;
}

/**
 * Splits a query into what journalctl filters and what is filtered here; cursor, order and limit aside.
 * @param query its boot by its id, if any.
 * @returns undefined when nothing can match.
 * @throws LogQueryRefused when `grep` is malformed.
 */
export function selectEntries(query: LogQuery): Selection | undefined {
  const { units, priority, identifier, uid, boot, grep } = query;
  const expression = grep === undefined ? undefined : compileGrep(grep);
  const bootText = boot === undefined ? [] : bootOption(boot);
  if (bootText === undefined || units?.length === 0) return undefined;
  const parts = [selectWindow(query), selectUnits(units), selectIdentifier(identifier)];
  return {
    options: [
      ...parts.flatMap(({ options }) => options),
      ...(priority === undefined || priority >= leastSevere ? [] : [`--priority=${priority}`]),
      ...(typeof bootText === "string" ? [bootText] : bootText),
      ...(uid === undefined ? [] : [`_UID=${uid}`]),
    ],
    passes: (record) =>
      parts.every(({ passes }) => passes(record)) &&
      (expression === undefined || (record.message !== undefined && expression.test(record.message))),
  };
}
