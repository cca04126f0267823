import { cleaned } from "#domain/common/clean-text.ts";
import { utf8Length } from "#kernel/text.ts";
import { isRecord } from "#kernel/values.ts";
import { cutTo } from "../text.ts";

/** Of one answer, and of all answers of a diagnosis: each is sent again with every further step. */
const mostAnswerBytes = 12 * 1024;
const mostAnswersBytes = 72 * 1024;
/** So much is kept of an answer for which there is no space. */
const leastBytes = 512;

/** Names of what lets a caller carry out a plan: no model gets it. */
const tokens = new Set(["plan_token", "plan_expires_at"]);

function withoutTokens(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTokens);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).filter(([name]) => !tokens.has(name));
  return Object.fromEntries(members.map(([name, each]) => [name, withoutTokens(each)]));
}

/** A value with the first members of each list, and the start of each text, which say what is missing. */
function shortened(value: unknown, most: { readonly items: number; readonly bytes: number }): unknown {
  if (typeof value === "string") return cutTo(value, most.bytes);
  if (Array.isArray(value)) {
    const kept = value.slice(0, most.items).map((each) => shortened(each, most));
    const left = value.length - kept.length;
    return left === 0 ? kept : [...kept, `[${left} more left out: narrow it, or ask for fewer]`];
  }
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortened(each, most)]));
}

const measures = [
  { items: Number.POSITIVE_INFINITY, bytes: 4096 },
  ...[100, 50, 25, 12, 6, 3, 1].map((items) => ({ items, bytes: 1024 })),
  { items: 1, bytes: 128 },
];

const tooLong = { error: { message: "the answer is too long: narrow it (a smaller limit, a filter, a shorter time)" } };

/**
 * An answer as a model is given it: JSON without secrets, tokens of plans and what nobody would see, in bounded size.
 * @param body undefined where it was too long to be read.
 * @param used bytes that the model was given before.
 */
export function answerText(
  body: Readonly<Record<string, unknown>> | undefined,
  used: number,
): { readonly text: string; readonly redactions: number } {
  const most = Math.max(leastBytes, Math.min(mostAnswerBytes, mostAnswersBytes - used));
  let redactions = 0;
  const clean = cleaned(withoutTokens(body ?? tooLong), (count) => {
    redactions += count;
  });
  for (const measure of measures) {
    const text = JSON.stringify(shortened(clean, measure));
    if (utf8Length(text) <= most) return { text, redactions };
  }
  return { text: cutTo(JSON.stringify(shortened(clean, { items: 1, bytes: 128 })), most), redactions };
}
