import { statSync } from "node:fs";
import { readRegularFile, writeFileAtomic } from "#adapters/files/index.ts";
import type { MessageClass } from "#domain/ports/journal.ts";
import { errnoCode, errorMessage, isNotFound } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import type { Fault } from "../registry.ts";

/** A template that the host has logged. Times are microseconds since the epoch. */
export interface Remembered extends MessageClass {
  readonly first: number;
  readonly last: number;
  /** Of its first entry that is an error; null without an error. */
  readonly firstError: number | null;
}

/** What is remembered of the journal, also of files that are gone. */
export interface TemplateMemory {
  readonly templates: readonly Remembered[];
  /** By the ids of files, how many of their entries are in it. */
  readonly files: Readonly<Record<string, number>>;
  /** The time of the first entry of all files that were read; null until all were read to their ends once. */
  readonly knownSince: number | null;
}

const nothing: TemplateMemory = { templates: [], files: {}, knownSince: null };

/** Of another version nothing can be used: how messages are masked and joined, and what a row has. */
const version = 1;
const maxBytes = 8 * 1024 * 1024;
/** So many templates, with so many characters together, those that are errors first and of these the newest. */
const [maxTemplates, maxCharacters] = [8192, 1024 * 1024];

const sizeOf = ({ unit, identifier, origin, text }: MessageClass): number =>
  unit.length + identifier.length + origin.length + text.length;

/** Leaves what may be kept. */
export function bounded(templates: readonly Remembered[]): readonly Remembered[] {
  let characters = 0;
  return templates
    .toSorted(
      (left, right) => Number(right.firstError !== null) - Number(left.firstError !== null) || right.last - left.last,
    )
    .slice(0, maxTemplates)
    .filter((each) => {
      characters += sizeOf(each);
      return characters <= maxCharacters;
    });
}

function readRow(row: unknown): Remembered {
  const [unit, identifier, origin, text, first, last, firstError] = Array.isArray(row) ? (row as unknown[]) : [];
  const isWhole =
    [unit, identifier, origin, text].every((each) => typeof each === "string") &&
    [first, last].every((each) => typeof each === "number") &&
    (firstError === null || typeof firstError === "number");
  if (!isWhole) throw new Error("a row is not that of a template");
  return { unit, identifier, origin, text, first, last, firstError } as Remembered;
}

function parse(text: string): TemplateMemory {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw new Error("expected a JSON object");
  if (value["version"] !== version) return nothing;
  const { files, templates, knownSince = null } = value;
  if (!isRecord(files) || !Array.isArray(templates)) throw new Error("files or templates are missing");
  const counts = Object.entries(files).filter((each): each is [string, number] => Number.isSafeInteger(each[1]));
  return {
    files: Object.fromEntries(counts),
    templates: bounded(templates.map(readRow)),
    knownSince: typeof knownSince === "number" ? knownSince : null,
  };
}

/** Writes it for the next time, and for others. */
export function writeMemory(path: string, { templates, ...rest }: TemplateMemory): void {
  const rows = templates.map(({ unit, identifier, origin, text, first, last, firstError }) => [
    ...[unit, identifier, origin, text],
    ...[first, last, firstError],
  ]);
  writeFileAtomic(path, JSON.stringify({ version, ...rest, templates: rows }));
}

/**
 * Reads it again when it has changed. Without a table, or with a damaged one, nothing is remembered: it is rebuilt.
 * @param path undefined: nothing is remembered.
 */
export function createMemoryReader(path: string | undefined, onDamage: (fault: Fault) => void): () => TemplateMemory {
  let state: string | undefined;
  let memory = nothing;
  const stateOf = (name: string): string | undefined => {
    try {
      const { ino, size, mtimeMs } = statSync(name);
      return `${ino} ${size} ${mtimeMs}`;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      return errnoCode(error) ?? errorMessage(error);
    }
  };
  return () => {
    if (path === undefined) return nothing;
    const current = stateOf(path);
    if (current === state) return memory;
    state = current;
    memory = nothing;
    if (current === undefined) return memory;
    try {
      memory = parse(readRegularFile(path, { maxBytes, followsLinks: false }).content.toString("utf8"));
    } catch (error) {
      onDamage({ path, what: `the table of templates cannot be used: ${errorMessage(error)}` });
    }
    return memory;
  };
}
