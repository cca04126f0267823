import { invalid } from "#domain/kernel/error.ts";

/**
 * The regular expression that a text is.
 * @throws SyntaxError when it is none.
 */
export function compileExpression(text: string, flags: "" | "i" = ""): RegExp {
  try {
    return new RegExp(text, `${flags}u`);
  } catch {
    // Without the flag more is an expression: `\-` and a lone `{`, as in PCRE.
    return new RegExp(text, flags);
  }
}

/** Why a text is no expression, without the engine's repetition of the text. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^.*\/: /s, "") : "malformed";

/**
 * Whether a text is a regular expression, said at once and here: a search for it may have to wait for others.
 * @throws DomainError VALIDATION_ERROR when it is none.
 */
export function checkExpression(text: string): string {
  try {
    compileExpression(text);
  } catch (error) {
    throw invalid("grep", `Must be a regular expression: ${reasonOf(error)}`);
  }
  return text;
}
