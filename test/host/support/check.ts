import type { CheckSettings, Outcome } from "#domain/health/check.ts";
import { driver } from "../program.ts";
import type { Session } from "./session.ts";

/** What a check is run with beside its settings. */
export interface RunOptions extends Partial<CheckSettings> {
  /** How much later than now it thinks it is; below zero as after the clock was set back. */
  readonly aheadMs?: number;
}

/** The words that run a check inside the host against what is really there, and print its outcome as JSON. */
export const checkCommand = (id: string, options: RunOptions = {}): readonly string[] => [
  ...driver("run-check"),
  id,
  JSON.stringify(options),
];

export const parseOutcome = (text: string): Outcome => JSON.parse(text) as Outcome;

/** Runs a check inside the host against what is really there. */
export async function runCheck(
  { host }: Pick<Session, "host">,
  id: string,
  options: RunOptions = {},
): Promise<Outcome> {
  const { stdout } = await host.exec(checkCommand(id, options));
  return parseOutcome(stdout);
}
