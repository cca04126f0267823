import { describeMismatch } from "#client/answer.ts";
import { Plan } from "#contract/operation.ts";
import { formatBytes } from "#kernel/text.ts";
import { type Io, oneLine, paintError, screenOf } from "../output/output.ts";
import type { Person } from "./ports.ts";

/** The plan in the answer to a dry run. @throws Error when it is something else: the operation has then been done. */
export function asPlan(answer: unknown): Plan {
  if (describeMismatch(Plan, answer) === undefined) return answer as Plan;
  throw new Error("cannot show a plan: the service answered a dry run with something else");
}

export function planLines(plan: Plan): readonly string[] {
  const { steps, units, packages, bytes, requires_reboot: reboot, reason, frees_bytes: frees } = plan;
  const section = (title: string, names: readonly string[]): readonly string[] =>
    names.length === 0 ? [] : [`${title} (${names.length}): ${names.join(", ")}`];
  return [
    ...steps.map((step, at) => `${at + 1}. ${step}`),
    ...(reason === undefined ? [] : [reason]),
    ...section("packages", packages),
    ...section("units", units),
    ...(bytes > 0 ? [`to download: ${formatBytes(bytes)}`] : []),
    ...(frees === undefined ? [] : [`becomes free: ${formatBytes(frees)}`]),
    ...(reboot ? ["needs a reboot afterwards"] : []),
  ].map(oneLine);
}

export function printPlan(io: Io, plan: Plan): void {
  for (const line of planLines(plan)) io.out(`  ${line}\n`);
}

/**
 * Where a plan is printed: not on standard output with `--json`, which the answer needs, nor where that is a file or a pipe
 * while a person at the terminal is asked about the plan.
 */
export function ioOfPlan(
  { io, person }: { readonly io: Io; readonly person: Person },
  { yes, json }: { readonly yes?: boolean | undefined; readonly json?: boolean | undefined },
): Io {
  const isUnseen = !yes && person.isThere && !screenOf(io).isTerminal;
  return json || isUnseen ? { ...io, out: io.err } : io;
}

/** Whether the plan is to be carried out: asks, unless `--yes` was given. @throws Error when there is nobody to ask. */
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
