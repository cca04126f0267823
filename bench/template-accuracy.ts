import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine } from "../src/adapters/journald/engine.ts";
import { parseCursor } from "../src/adapters/journald/order.ts";
import type { LogList } from "../src/contract/logs.ts";
import { identifierPattern, unitPattern } from "../src/domain/logs/templates/names.ts";
import type { LogQuery, TemplateQuery } from "../src/domain/ports/journal.ts";
import { encodeEntry, type Field } from "../test/journals/export-format.ts";
import { appendToJournal } from "../test/journals/programs.ts";

/** How well messages are distinguished by their words alone, where the place in the source says which are alike. */
export interface Accuracy {
  readonly entries: number;
  /** Groups by unit and place in the source. */
  readonly places: number;
  readonly templates: number;
  /** Share of the entries whose template has just the entries of their place. */
  readonly grouped: number;
  /** Share of the pairs of entries of one place that are in one template, and of those of one template that are of one place. */
  readonly kept: number;
  readonly pure: number;
  /** Places whose entries are not in one template of their own, the largest first. */
  readonly missed: readonly string[];
}

type Line = Readonly<Record<string, unknown>>;

const textOf = (line: Line, name: string): string => {
  const value = line[name];
  return typeof value === "string" ? value : "";
};

/** Which message it is, as its program says; empty where it does not. */
function placeOf(line: Line): string {
  const [id, file, number] = ["MESSAGE_ID", "CODE_FILE", "CODE_LINE"].map((name) => textOf(line, name));
  return id || (file && number ? `${file}:${number}` : "");
}

/** What says so. */
const placing = new Set(["CODE_FILE", "CODE_LINE", "CODE_FUNC", "MESSAGE_ID", "TID"]);
const kind = { compact: true, keyedHash: true, compress: true };
const everything = {
  ...{ units: undefined, since: 0, until: Number.MAX_SAFE_INTEGER, priority: undefined, identifier: undefined },
  ...{ uid: undefined, boot: undefined, grep: undefined },
};
const limit = 10_000;

const pairs = (count: number): number => (count * (count - 1)) / 2;
const sizes = (groups: Iterable<readonly unknown[]>): number =>
  [...groups].reduce((sum, group) => sum + pairs(group.length), 0);

/**
 * Groups the entries of `journalctl -o json` that say where they were written, without what says it.
 * @throws Error where the journal cannot be written or read.
 */
export function templateAccuracy(output: string): Accuracy {
  const lines = output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => placeOf(line) !== "" && textOf(line, "MESSAGE") !== "");
  const directory = mkdtempSync(join(tmpdir(), "steward-accuracy-"));
  try {
    const written = lines.map((line, at) => {
      const fields = Object.entries(line).filter(
        (each): each is [string, string] =>
          typeof each[1] === "string" && !each[0].startsWith("__") && !placing.has(each[0]),
      );
      const entry = {
        realtime: 1_700_000_000_000_000 + at,
        monotonic: at + 1,
        bootId: "5".repeat(32),
        fields: fields.filter(([name]) => name !== "_BOOT_ID") satisfies readonly Field[],
      };
      return encodeEntry(entry);
    });
    appendToJournal(join(directory, "system.journal"), kind, written);
    return compare(directory, lines);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function compare(directory: string, lines: readonly Line[]): Accuracy {
  const engine = createEngine({ roots: [{ path: directory }] });
  const asked: TemplateQuery = { ...everything, limit: 1000, before: undefined, status: undefined };
  const { templates } = engine.ask({ what: "templates", query: asked });
  /** By the cursors, which have the position of the entry in the file. */
  const found = new Map<number, string>();
  for (const { id } of templates) {
    const query: LogQuery = { ...everything, cursor: undefined, order: "asc", limit, template: id };
    const answer = JSON.parse(new TextDecoder().decode(engine.query(query))) as LogList;
    for (const { cursor } of answer.logs) found.set(parseCursor(cursor)?.seqnum ?? 0, id);
  }
  engine.dispose();
  const entries = lines.map((line, at) => {
    const unit = unitPattern(textOf(line, "UNIT") || textOf(line, "_SYSTEMD_UNIT"));
    const place = [unit, identifierPattern(textOf(line, "SYSLOG_IDENTIFIER")), placeOf(line)].join(" ");
    return { place, template: found.get(at + 1) ?? `none ${at}`, message: textOf(line, "MESSAGE") };
  });
  const byPlace = Map.groupBy(entries, ({ place }) => place);
  const byTemplate = Map.groupBy(entries, ({ template }) => template);
  const both = Map.groupBy(entries, ({ place, template }) => `${place}\0${template}`);
  const isSame = ({ place, template }: (typeof entries)[number]): boolean => {
    const count = both.get(`${place}\0${template}`)?.length;
    return count === byPlace.get(place)?.length && count === byTemplate.get(template)?.length;
  };
  const together = sizes(both.values());
  return {
    entries: entries.length,
    places: byPlace.size,
    templates: byTemplate.size,
    grouped: entries.filter(isSame).length / entries.length,
    kept: together / sizes(byPlace.values()),
    pure: together / sizes(byTemplate.values()),
    missed: [...byPlace.values()]
      .filter((group) => group.some((entry) => !isSame(entry)))
      .toSorted((left, right) => right.length - left.length)
      .map(
        (group) =>
          `${group.length} of ${group[0]?.place}: ${[...new Set(group.map(({ message }) => message))].slice(0, 3).join(" | ")}`,
      ),
  };
}
