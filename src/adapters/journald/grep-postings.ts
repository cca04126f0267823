import { compileExpression, type Expression } from "#domain/logs/expression.ts";
import { LogQueryRefused } from "#domain/ports/journal.ts";
import { errorMessage } from "#kernel/errors.ts";
import { field } from "./fields.ts";
import { DamagedJournal } from "./journal-file/damage.ts";
import { readPayload } from "./journal-file/data.ts";
import { type Hits, searchMessages } from "./journal-file/walk.ts";
import { countOf, intersection, type Postings, toOffsets, union } from "./postings.ts";
import type { Source } from "./source.ts";
import { createFinder } from "./word-finder.ts";

/** Expressions that are kept as they are compiled, and the bytes that they may hold: streams search for the same again and again. */
const maxKept = 1024;
const maxHeldBytes = 128 * 1024 * 1024;
const kept = new Map<string, Expression>();

/** Lets go of those that were compiled first until there is room for one more. What they hold grows while they are used. */
export function trimExpressions(): void {
  let held = 0;
  for (const expression of kept.values()) held += expression.held();
  for (const [pattern, expression] of kept) {
    if (kept.size < maxKept && held <= maxHeldBytes) return;
    kept.delete(pattern);
    held -= expression.held();
  }
}

/** @throws LogQueryRefused when the expression is malformed. */
export function compileGrep(pattern: string): Expression {
  const known = kept.get(pattern);
  if (known !== undefined) return known;
  try {
    const made = compileExpression(pattern);
    trimExpressions();
    kept.set(pattern, made);
    return made;
  } catch (error) {
    throw new LogQueryRefused("grep", `Must be a regular expression: ${errorMessage(error)}`);
  }
}

const prefix = "MESSAGE=";
/** Of a file's entries, a share below which reading them is cheaper than reading all messages of the file. */
const sparse = 0.25;

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

function byEntries(source: Source, candidates: Float64Array, expression: Expression): Float64Array {
  const messageOf = createMessageReader(source);
  return candidates.filter((offset) => {
    try {
      const message = messageOf(offset);
      return message !== undefined && expression.test(message);
    } catch (error) {
      if (!(error instanceof DamagedJournal)) throw error;
      source.onDamage(error);
      return false;
    }
  });
}

function entriesOfData(source: Source, offsets: Iterable<number>): Postings {
  const lists: Postings[] = [];
  const singles: number[] = [];
  for (const offset of offsets) {
    const list = source.entriesOf(offset);
    if (list.length === 1) singles.push(list.at(0));
    else if (list.length > 0) lists.push({ kind: "offsets", offsets: list.slice(0, list.length) });
  }
  return union([...lists, { kind: "offsets", offsets: Float64Array.from(singles).sort() }]);
}

/** Data objects of messages that fit, by the chain of the field. */
function* byMessages(source: Source, expression: Expression): Generator<number> {
  for (const offset of source.valuesOf("MESSAGE")) {
    try {
      const { bytes, start, end } = readPayload(source.file, offset);
      if (expression.test(bytes.toString("utf8", start + prefix.length, end))) yield offset;
    } catch (error) {
      if (!(error instanceof DamagedJournal)) throw error;
      source.onDamage(error);
    }
  }
}

/** A text that is stored once is tested once, however many entries have it. */
function searched(source: Source, expression: Expression): Hits {
  const finding = createFinder(expression.words);
  try {
    const hits = searchMessages(source.file, { ...finding, matches: expression.test, onDamage: source.onDamage });
    if (hits !== undefined) return hits;
  } catch (error) {
    // Where one object cannot be told from the next, the chain of the field still leads to those that can be read.
    if (!(error instanceof DamagedJournal)) throw error;
  }
  return { kind: "data", offsets: [...byMessages(source, expression)] };
}

export function grepping(source: Source, candidates: Postings, expression: Expression): Postings {
  const count = countOf(candidates);
  if (count === 0) return candidates;
  if (count < source.all().length * sparse) {
    return { kind: "offsets", offsets: byEntries(source, toOffsets(candidates), expression) };
  }
  const hits = searched(source, expression);
  if (hits.kind === "entries") return intersection([{ kind: "offsets", offsets: hits.offsets }, candidates]);
  const found = entriesOfData(source, hits.offsets);
  const matched = countOf(found) === 0 ? found : intersection([found, candidates]);
  // An entry may have several messages, of which the first counts.
  return { kind: "offsets", offsets: byEntries(source, toOffsets(matched), expression) };
}
