import { compileExpression, reasonOf } from "#domain/logs/expression.ts";
import { LogQueryRefused } from "#domain/logs/ports.ts";

/** Letters behind a backslash mean classes and the like, and say nothing about case: `\W`, `\S`, `\P{L}`. */
const escapes = /\\(?:[pP]\{[^}]*\}|.)/gsu;

/**
 * The expression as it is applied: without a capital letter in it, case does not matter, as with `journalctl -g`.
 * @throws LogQueryRefused when it is malformed.
 */
export function compileGrep(pattern: string): RegExp {
  const isExact = /\p{Lu}/u.test(pattern.replaceAll(escapes, ""));
  try {
    return compileExpression(pattern, isExact ? "" : "i");
  } catch (error) {
    throw new LogQueryRefused("grep", `Must be a regular expression: ${reasonOf(error)}`);
  }
}
