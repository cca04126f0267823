import type { TransactionPlan, UpdateRequest } from "#domain/ports/packages.ts";
import { driver } from "../program.ts";
import type { Session } from "./session.ts";

/** What the package manager is asked for. */
export interface UpdatesInput {
  readonly id?: string;
  readonly request?: Pick<UpdateRequest, "type" | "isSecurityOnly"> & { readonly names?: readonly string[] };
  readonly plan?: TransactionPlan;
  readonly lockWaitMs?: number;
}

export interface UpdatesAnswer<T> {
  readonly result?: T;
  readonly error?: string;
  /** Of the lock that was in the way. */
  readonly holder?: { readonly pid: number; readonly program: string };
  readonly lines: readonly string[];
  readonly steps: readonly { readonly percent: number; readonly what: string }[];
}

/** Asks the package manager inside the host, in a process of its own. */
export async function packageManager<T = unknown>(
  { host }: Pick<Session, "host">,
  verb: string,
  input: UpdatesInput = {},
): Promise<UpdatesAnswer<T>> {
  const argv = [...driver("run-updates"), verb, JSON.stringify(input)];
  return JSON.parse((await host.exec(argv, { timeoutMs: 120_000 })).stdout) as UpdatesAnswer<T>;
}

/** Begins a commit and kills the process that does it, and no other, after so many milliseconds. */
export async function killedCommit(
  { host }: Pick<Session, "host">,
  input: UpdatesInput,
  afterMs: number,
): Promise<void> {
  const argv = ["timeout", "--foreground", "--signal=KILL", String(afterMs / 1000), ...driver("run-updates")];
  await host.exec([...argv, "commit", JSON.stringify(input)], { allowFailure: true });
}
