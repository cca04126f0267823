import { describeMismatch } from "#client/answer.ts";
import { ApiError } from "#client/errors.ts";
import { Plan } from "#contract/operation.ts";
import { formatBytes } from "#kernel/text.ts";
import { isString } from "#kernel/values.ts";
import { type Io, oneLine, paintError, screenOf } from "../output/output.ts";
import { inOwnWords } from "./errors.ts";
import type { Person } from "./ports.ts";

/** The plan in the answer to a dry run. @throws Error when it is something else: the operation has then been done. */
export function asPlan(answer: unknown): Plan {
  if (describeMismatch(Plan, answer) === undefined) return answer as Plan;
  throw new Error("cannot show a plan: the service answered a dry run with something else");
}

export function planLines(plan: Plan): readonly string[] {
  const {
    steps,
    units,
    packages,
    bytes,
    requires_reboot: reboot,
    reason,
    frees_bytes: frees,
    outside_window: outside,
    needs_approval: approval,
  } = plan;
  const section = (title: string, names: readonly string[]): readonly string[] =>
    names.length === 0 ? [] : [`${title} (${names.length}): ${names.join(", ")}`];
  return [
    ...steps.map((step, at) => `${at + 1}. ${step}`),
    ...(reason === undefined ? [] : [reason]),
    ...(outside === undefined ? [] : [`would be refused now: ${outside.message}`]),
    ...(approval === undefined ? [] : [`would wait for approval: ${approval.message}`]),
    ...section("packages", packages),
    ...section("units", units),
    ...(bytes > 0 ? [`to download: ${formatBytes(bytes)}`] : []),
    ...(frees === undefined ? [] : [`becomes free: ${formatBytes(frees)}`]),
    ...(reboot ? ["needs a reboot afterwards"] : []),
  ].map((line) => oneLine(inOwnWords(line)));
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
    throw new Error("cannot ask whether to continue: there is nobody at a terminal (--yes does it without asking)");
  const answer = await person.ask(`${paintError(io, "bold", question)} [y/N] `);
  if (/^y(es)?$/i.test(answer?.trim() ?? "")) return true;
  io.err("steward: nothing was done\n");
  return false;
}

const changesInARow = 3;

/** The plan of what would be done now; undefined where the service refused for another reason than that it has changed. */
function changedPlan(error: unknown): { readonly plan: Plan; readonly changes: readonly string[] } | undefined {
  if (!(error instanceof ApiError) || error.details?.["reason"] !== "plan_changed") return undefined;
  const { plan } = error.details;
  return describeMismatch(Plan, plan) === undefined ? { plan: plan as Plan, changes: changeLines(error) } : undefined;
}

const listedChanges = 10;

/** What has come and gone since the plan was shown, which its steps may only count. */
function changeLines({ details }: ApiError): readonly string[] {
  const linesOf = (member: "added" | "missing", word: string): readonly string[] => {
    const value = details?.[member];
    return Array.isArray(value) ? value.filter(isString).map((line) => `${word} ${line}`) : [];
  };
  const lines = [...linesOf("added", "also"), ...linesOf("missing", "not")];
  return lines.length <= listedChanges
    ? lines
    : [...lines.slice(0, listedChanges), `and ${lines.length - listedChanges} more changes`];
}

interface Agreement<T> {
  /** As it was shown and agreed to. */
  readonly plan: Plan;
  readonly question: (plan: Plan) => string;
  readonly options: { readonly yes?: boolean | undefined; readonly json?: boolean | undefined };
  readonly carryOut: (plan: Plan) => Promise<T>;
}

/**
 * Carries out a plan. Where something has changed since it was shown, the new one is shown and asked about.
 * @returns undefined where that is not wanted.
 */
export async function carryOutPlan<T>(
  ports: { readonly io: Io; readonly person: Person },
  { plan: shown, question, options, carryOut }: Agreement<T>,
): Promise<{ readonly done: T } | undefined> {
  let plan = shown;
  for (let changes = 0; ; changes += 1) {
    try {
      return { done: await carryOut(plan) };
    } catch (error) {
      const changed = changedPlan(error);
      // With --yes nobody would look at it.
      if (changed === undefined || changes === changesInARow || options.yes) throw error;
      ports.io.err("steward: something has changed since the plan was made; now it would:\n");
      plan = changed.plan;
      const shownAt = ioOfPlan(ports, options);
      printPlan(shownAt, plan);
      for (const line of changed.changes) shownAt.out(`  changed: ${oneLine(line)}\n`);
      if (plan.steps.length === 0 || !(await isWanted(ports, question(plan), options))) return undefined;
    }
  }
}
