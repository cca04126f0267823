import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandOptions, CommandResult, Exec } from "#adapters/exec/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { type MissingPlan, type PackageRepairs, UpdateRefused } from "#domain/ports/packages.ts";
import { areSame } from "./changes.ts";
import type { Argv } from "./ports.ts";

const maxReasonChars = 1000;

/** It was only asked, and says why it does not answer: somebody has to fix its settings, or what it has on disk. */
export class ManagerRefuses extends HostUnavailable {
  override readonly name = "ManagerRefuses";

  constructor(manager: string, reason: string) {
    const details = { missing: "answer of the package manager", retryable: false };
    super(`${manager} refuses to answer: ${reason.trim().slice(0, maxReasonChars)}`, details);
  }
}

export async function askWhole(
  { exec, manager }: { readonly exec: Exec; readonly manager: string },
  argv: Argv,
  signal: AbortSignal,
  options: Pick<CommandOptions, "timeoutMs" | "onOutput"> = {},
): Promise<CommandResult> {
  const result = await exec(argv, { signal, timeoutMs: 120_000, maxOutputBytes: 64 * 1024 * 1024, ...options });
  if (result.truncated) throw new CommandFailed(`cannot ask ${manager}: its answer has no end`);
  return result;
}

export async function orObstacle(plan: MissingPlan, work: () => Promise<MissingPlan>): Promise<MissingPlan> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UpdateRefused) return { ...plan, obstacle: error.message };
    throw error;
  }
}

/** The plan as it would be made now. @throws CommandFailed where it is not the one that was decided upon. */
export async function demandSamePlan(
  planMissing: PackageRepairs["planMissing"],
  plan: MissingPlan,
  signal: AbortSignal,
): Promise<MissingPlan> {
  const now = await planMissing(plan.reinstalled, signal);
  if (now.obstacle !== null) throw new CommandFailed(now.obstacle);
  if (areSame(now.changes, plan.changes)) return now;
  const found = now.changes.map(({ name, to }) => `${name} ${to}`).join(", ") || "nothing";
  throw new CommandFailed(`what must be installed has changed meanwhile to ${found}: look at it and try again`);
}
