import { clipText } from "#kernel/text.ts";

const redacted = "[redacted]";
const maxLength = 300;
/** Longest text that is inspected for one: the patterns below may take the square of it. */
const maxScanned = 2048;
const pieceLength = 6;

function formsOf(secret: string): readonly string[] {
  const base64 = Buffer.from(secret).toString("base64");
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64, base64.replaceAll("=", "")];
}

function markPieces(text: string, form: string, marks: boolean[]): void {
  const length = Math.min(pieceLength, form.length);
  const pieces = new Set(Array.from({ length: form.length - length + 1 }, (_, at) => form.slice(at, at + length)));
  for (let at = 0; at + length <= text.length; at += 1) {
    if (pieces.has(text.slice(at, at + length))) marks.fill(true, at, at + length);
  }
}

function withoutPieces(text: string, secrets: readonly string[]): string {
  const marks = Array.from(text, () => false);
  // Without regard to case; where lower case has another length, the text is not compared letter by letter.
  const lower = text.toLowerCase();
  const compared = lower.length === text.length ? lower : text;
  for (const form of new Set(secrets.flatMap(formsOf))) {
    if (form !== "") markPieces(compared, compared === lower ? form.toLowerCase() : form, marks);
  }
  let result = "";
  for (let at = 0; at < text.length; at += 1) {
    if (marks[at] !== true) result += text[at];
    else if (marks[at - 1] !== true) result += redacted;
  }
  return result;
}

const patterns: readonly (readonly [RegExp, string])[] = [
  [/[^\s"'`,;:=]*[*\u2022]{2,}[^\s"'`,;]*/g, redacted],
  [/\b[\w-]{2,}(?:\.{3,}|\u2026)[\w-]+/g, redacted],
  [/\b(bearer|basic)\s+[\w.~+/=-]{4,}/gi, `$1 ${redacted}`],
  [/\b((?:x-(?:goog-)?)?api[-_ ]?key|authorization|key|token)(["']?\s*[=:]\s*["']?)[\w.~+/-]{8,}/gi, `$1$2${redacted}`],
  [/\b(?:sk|pk|rk)-[\w-]{8,}|\bAIza[\w-]{16,}/g, redacted],
  [/\/\/[^\s/@]{1,256}@/g, `//${redacted}@`],
];

/** A provider's message for people: one line, bounded, without the secrets that were sent or what looks like one. */
export function scrub(text: string, secrets: readonly string[]): string {
  // Control characters and those that change the direction of a line have no place in a message.
  const line = text
    .slice(0, maxScanned)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const safe = patterns.reduce((each, [pattern, by]) => each.replaceAll(pattern, by), withoutPieces(line, secrets));
  return clipText(safe, maxLength);
}

/** Shorter ones, such as a user name, are words that an answer may have for other reasons. */
const shortest = 8;

function lengthOfBeginning(text: string, secrets: readonly string[]): number {
  const longest = Math.max(0, ...secrets.map((secret) => secret.length - 1));
  for (let length = Math.min(longest, text.length); length > 0; length -= 1) {
    const tail = text.slice(-length);
    if (secrets.some((secret) => secret.startsWith(tail))) return length;
  }
  return 0;
}

/** A server that echoes its headers must not reveal the key to callers. Removes only the secrets themselves. */
export function createScreen(given: readonly string[]) {
  const secrets = given.filter(({ length }) => length >= shortest);
  const without = (text: string): string => secrets.reduce((each, secret) => each.replaceAll(secret, redacted), text);
  let kept = "";
  return {
    push(text: string): string {
      const screened = without(kept + text);
      const length = lengthOfBeginning(screened, secrets);
      kept = screened.slice(screened.length - length);
      return screened.slice(0, screened.length - length);
    },
    end(): string {
      const rest = kept;
      kept = "";
      return rest;
    },
  };
}

export function screened(text: string, secrets: readonly string[]): string {
  const screen = createScreen(secrets);
  return screen.push(text) + screen.end();
}
