import { compileExpression, type Expression } from "#domain/logs/expression.ts";
import { LogQueryRefused } from "#domain/ports/journal.ts";
import { errorMessage } from "#kernel/errors.ts";
import { lowerFirst } from "#kernel/text.ts";
import { field } from "./fields.ts";
import { DamagedJournal } from "./journal-file/blocks.ts";
import { readPayload } from "./journal-file/data.ts";
import { searchMessages } from "./journal-file/walk.ts";
import type { Run } from "./merge.ts";
import { countOf, intersection, type Postings, toOffsets } from "./postings.ts";
import { type Help, searchTogether } from "./shared-search.ts";
import type { Source } from "./source.ts";
import { createFinder } from "./word-finder.ts";

/** Expressions that are kept as they are compiled, and the bytes that they may hold: streams search for the same again and again. */
const maxKept = 1024;
const maxHeldBytes = 128 * 1024 * 1024;
const kept = new Map<string, Expression>();

/** Lets go of those that were compiled first until there is space for one more. What they hold grows while they are used. */
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
    throw new LogQueryRefused("grep", `Must be a regular expression: ${lowerFirst(errorMessage(error))}`);
  }
}

/** Of a file's entries, a share below which reading them is cheaper than reading all messages of the file. */
const sparse = 0.08;

function wholeMessage({ file }: Source, dataOffset: number): string {
  const { bytes, start, end } = readPayload(file, dataOffset);
  return bytes.toString("utf8", start + "MESSAGE=".length, end);
}

function createMessageReader(source: Source) {
  const items: number[] = [];
  return (offset: number): string | undefined => {
    const count = source.entries.items(offset, items);
    for (let index = 0; index < count; index += 1) {
      const value = source.fields.read(items[index] ?? 0);
      if (value?.field !== field.MESSAGE) continue;
      return value.cut === undefined ? value.text : wholeMessage(source, value.cut.dataOffset);
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

/** A text that is stored once is tested once, however many entries have it. @returns undefined where that cannot be. */
export function searchFile(source: Source, expression: Expression): Float64Array | undefined {
  const finding = createFinder(expression.words);
  try {
    return searchMessages(source.file, { ...finding, matches: expression.test, onDamage: source.onDamage });
  } catch (error) {
    // Where one object cannot be distinguished from the next, each entry still leads to its message.
    if (!(error instanceof DamagedJournal)) throw error;
    return undefined;
  }
}

/** Whether reading these entries is cheaper than reading all messages of their file. */
const isSparse = ({ source, postings }: Run): boolean => countOf(postings) <= source.all().length * sparse;

/** @param offsets those in the file whose message fits; undefined where each must be inspected. */
const fitting = ({ source, postings }: Run, offsets: Float64Array | undefined, expression: Expression): Postings =>
  offsets === undefined
    ? { kind: "offsets", offsets: byEntries(source, toOffsets(postings), expression) }
    : intersection([{ kind: "offsets", offsets }, postings]);

/** The entries of one file whose message fits. @param search searches the whole file. */
export const fittingIn = (run: Run, expression: Expression, search: () => Float64Array | undefined): Postings =>
  fitting(run, isSparse(run) ? undefined : search(), expression);

export interface Grep<Selected extends object> {
  readonly pattern: string;
  /** Takes what is needed of the entries that fit: all of them would take much memory. */
  readonly select: (run: Run) => Selected;
  readonly help: Help | undefined;
}

/** @returns what was selected of the candidates of each file whose message fits. */
export function grepping<Selected extends object>(
  candidates: readonly Run[],
  { pattern, select, help }: Grep<Selected>,
): readonly Selected[] {
  const expression = compileGrep(pattern);
  const search = (source: Source): Float64Array | undefined => searchFile(source, expression);
  const use = (run: Run, offsets: Float64Array | undefined): Selected => {
    const again = (): Postings => fittingIn(run, expression, () => search(run.source));
    return select({ source: run.source, postings: fitting(run, offsets, expression), again });
  };
  const searched = candidates.flatMap((run) => {
    const { file, damage, noteDamage } = run.source;
    return isSparse(run) ? [] : [{ run, file, damage, noteDamage }];
  });
  const inAll = {
    pattern,
    searchFile: ({ run }: { readonly run: Run }) => search(run.source),
    use: ({ run }: { readonly run: Run }, offsets: Float64Array | undefined) => use(run, offsets),
  };
  const found = new Map(
    searchTogether(searched, inAll, help).map((selected, index) => [searched[index]?.run, selected]),
  );
  return candidates.map((run) => found.get(run) ?? use(run, undefined));
}
