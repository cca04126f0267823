import { compileExpression, type Expression, expressionFault } from "#domain/logs/expression.ts";
import { LogQueryRefused } from "#domain/ports/journal.ts";

/** Letters behind a backslash mean classes and the like, and say nothing about case: `\W`, `\S`, `\P{L}`. */
const escapes = /\\(?:[pP]\{[^}]*\}|.)/gsu;

/** Expressions that are kept as they are compiled: streams search for the same few again and again. */
const maxKept = 8;
const kept = new Map<string, Expression>();

/**
 * The expression as it is applied: without a capital letter in it, case does not matter, as with `journalctl -g`.
 * @throws LogQueryRefused when it is malformed.
 */
export function compileGrep(pattern: string): Expression {
  const known = kept.get(pattern);
  if (known !== undefined) return known;
  const isExact = /\p{Lu}/u.test(pattern.replaceAll(escapes, ""));
  try {
    const made = compileExpression(pattern, isExact ? "" : "i");
    if (kept.size >= maxKept) kept.delete(kept.keys().next().value ?? "");
    kept.set(pattern, made);
    return made;
  } catch (error) {
    throw new LogQueryRefused("grep", `Must be a regular expression: ${expressionFault(error)}`);
  }
}
