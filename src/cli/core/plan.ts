import { describeMismatch } from "#client/answer.ts";
import { Plan } from "#contract/operation.ts";
import { formatBytes } from "#kernel/text.ts";
import { type Io, oneLine, paintError, screenOf } from "../output/output.ts";
import type { Person } from "./ports.ts";

/**
 * The plan that a dry run answered.
 * @throws Error when it is something else: whatever was asked for has then been done.
 */
export function asPlan(answer: unknown): Plan {
  if (describeMismatch(Plan, answer) === undefined) return answer as Plan;
  throw new Error("cannot show a plan: the service answered a dry run with something else");
}

/** A plan in words. */
export function planLines(plan: Plan): readonly string[] {
  const { steps, units, packages, bytes, requires_reboot: reboot, reason, frees_bytes: frees } = plan;
  const list = (title: string, names: readonly string[]): readonly string[] =>
    names.length === 0 ? [] : [`${title} (${names.length}): ${names.join(", ")}`];
  return [
    ...steps.map((step, at) => `${at + 1}. ${step}`),
    ...(reason === undefined ? [] : [reason]),
    ...list("packages", packages),
    ...list("units", units),
    ...(bytes > 0 ? [`to download: ${formatBytes(bytes)}`] : []),
    ...(frees === undefined ? [] : [`becomes free: ${formatBytes(frees)}`]),
    ...(reboot ? ["needs a reboot afterwards"] : []),
  ].map(oneLine);
}

/** Prints a plan. */
export function printPlan(io: Io, plan: Plan): void {
  for (const line of planLines(plan)) io.out(`  ${line}\n`);
}

/**
 * Where a plan is printed that may be asked about: standard output is the answer's with `--json`, and where it is a file or a
 * pipe, whoever is asked would not see what.
 */
export function ioOfPlan(
  { io, person }: { readonly io: Io; readonly person: Person },
  { yes, json }: { readonly yes?: boolean | undefined; readonly json?: boolean | undefined },
): Io {
  const isUnseen = !yes && person.isThere && !screenOf(io).isTerminal;
  return json || isUnseen ? { ...io, out: io.err } : io;
}

/**
 * Whether what was shown is to be done: the person is asked, unless it was said beforehand.
 * @throws Error when there is nobody to ask.
 */
export async function isWanted(
  { io, person }: { readonly io: Io; readonly person: Person },
  question: string,
  options: { readonly yes?: boolean | undefined },
): Promise<boolean> {
  if (options.yes) return true;
  if (!person.isThere)
    throw new Error("cannot ask whether to go on: there is nobody at a terminal (--yes does it without asking)");
  const answer = await person.ask(`${paintError(io, "bold", question)} [y/N] `);
  if (/^y(es)?$/i.test(answer?.trim() ?? "")) return true;
  io.err("steward: nothing was done\n");
  return false;
}
