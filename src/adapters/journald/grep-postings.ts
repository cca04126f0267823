import { compileExpression, type Expression } from "#domain/logs/expression.ts";
import { LogQueryRefused } from "#domain/ports/journal.ts";
import { errorMessage } from "#kernel/errors.ts";
import { field } from "./fields.ts";
import { DamagedJournal } from "./journal-file/damage.ts";
import { readPayload } from "./journal-file/data.ts";
import { countOf, intersection, type Postings, toOffsets, union } from "./postings.ts";
import type { Source } from "./source.ts";

/** Expressions that are kept as they are compiled, and how many of them may be heavy: streams search for the same again and again. */
const maxKept = 1024;
const maxKeptHeavy = 32;
const kept = new Map<string, Expression>();

function keep(pattern: string, made: Expression): void {
  const rivals = made.isHeavy ? [...kept].filter(([, { isHeavy }]) => isHeavy) : [...kept];
  const [oldest] = rivals;
  if (oldest !== undefined && rivals.length >= (made.isHeavy ? maxKeptHeavy : maxKept)) kept.delete(oldest[0]);
  kept.set(pattern, made);
}

/** @throws LogQueryRefused when the expression is malformed. */
export function compileGrep(pattern: string): Expression {
  const known = kept.get(pattern);
  if (known !== undefined) return known;
  try {
    const made = compileExpression(pattern);
    keep(pattern, made);
    return made;
  } catch (error) {
    throw new LogQueryRefused("grep", `Must be a regular expression: ${errorMessage(error)}`);
  }
}

const prefix = "MESSAGE=";
/** Of a file's entries, a share below which reading them is cheaper than reading all messages of the file. */
const sparse = 0.25;

type Matches = (message: string) => boolean;

function createMessageReader(source: Source) {
  const items: number[] = [];
  return (offset: number): string | undefined => {
    const count = source.entries.items(offset, items);
    for (let index = 0; index < count; index += 1) {
      const value = source.fields.read(items[index] ?? 0);
      if (value?.field === field.MESSAGE) return value.text;
    }
    return undefined;
  };
}

function byEntries(source: Source, candidates: Float64Array, matches: Matches): Float64Array {
  const messageOf = createMessageReader(source);
  return candidates.filter((offset) => {
    try {
      const message = messageOf(offset);
      return message !== undefined && matches(message);
    } catch (error) {
      if (!(error instanceof DamagedJournal)) throw error;
      source.onDamage(error);
      return false;
    }
  });
}

/** A text that is stored once is tested once, however many entries have it. */
function byMessages(source: Source, matches: Matches): Postings {
  const lists: Postings[] = [];
  const singles: number[] = [];
  for (const offset of source.valuesOf("MESSAGE")) {
    try {
      const { bytes, start, end } = readPayload(source.file, offset);
      if (!matches(bytes.toString("utf8", start + prefix.length, end))) continue;
      const list = source.entriesOf(offset);
      if (list.length === 1) singles.push(list.at(0));
      else lists.push({ kind: "offsets", offsets: list.slice(0, list.length) });
    } catch (error) {
      if (!(error instanceof DamagedJournal)) throw error;
      source.onDamage(error);
    }
  }
  return union([...lists, { kind: "offsets", offsets: Float64Array.from(singles).sort() }]);
}

export function grepping(source: Source, candidates: Postings, matches: Matches): Postings {
  const count = countOf(candidates);
  if (count === 0) return candidates;
  if (count < source.all().length * sparse) {
    return { kind: "offsets", offsets: byEntries(source, toOffsets(candidates), matches) };
  }
  const found = byMessages(source, matches);
  const matched = countOf(found) === 0 ? found : intersection([found, candidates]);
  // An entry may have several messages, of which the first counts.
  return { kind: "offsets", offsets: byEntries(source, toOffsets(matched), matches) };
}
