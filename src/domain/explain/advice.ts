import { redact } from "#domain/common/redact.ts";
import { type FoundRunbooks, runbooksFor, type Subjects } from "#domain/ports/runbooks.ts";
import { utf8Length } from "#kernel/text.ts";
import { cutTo, inert, inertLines } from "./text.ts";

/** Runbooks as a model reads them. */
export interface Advice {
  readonly ids: readonly string[];
  readonly text: string;
  readonly redactions: number;
  /** What is not in the text, and why. */
  readonly omitted: readonly string[];
}

const mostBytes = 4 * 1024;
/** A shorter start of a runbook says nothing. */
const leastBytes = 256;

/** Writes the runbooks of some subjects for a model, in at most 4 KiB and without secrets. */
export function adviceOn(
  { runbooks, faults }: FoundRunbooks,
  subjects: Subjects,
  isWithin: (unit: string, pattern: string) => boolean,
): Advice {
  const ids: string[] = [];
  const texts: string[] = [];
  const omitted = faults.map(({ file, reason }) => `runbook ${inert(file)}: ${reason}`);
  let redactions = 0;
  let space = mostBytes;
  for (const { id, title, body } of runbooksFor(runbooks, subjects, isWithin)) {
    const redacted = redact(`# ${title} (${id})\n${body}`);
    const whole = inertLines(redacted.text);
    if (space < Math.min(leastBytes, utf8Length(whole))) {
      omitted.push(`runbook ${id} (size limit)`);
      continue;
    }
    const text = cutTo(whole, space);
    if (text !== whole) omitted.push(`runbook ${id}: the rest (size limit)`);
    ids.push(id);
    texts.push(text);
    redactions += redacted.count;
    space -= utf8Length(text) + 2;
  }
  return { ids, text: texts.join("\n\n"), redactions, omitted };
}
