import { CommanderError } from "commander";
import type { Plan } from "#contract/operation.ts";
import { explainError, isOutOfReach, isRefused } from "../core/errors.ts";
import type { CliTime } from "../core/ports.ts";
import { exitCode, type Io, oneLine } from "../output/output.ts";
import type { Cell } from "../output/screen.ts";
import type { SeveralHosts } from "./choice.ts";
import { PlanShown } from "./guard.ts";

export interface CollectedTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Collects what a command writes; tables as their cells. */
function collect() {
  const collected = {
    text: "",
    trouble: "",
    tables: [] as CollectedTable[],
    io: {
      out(more: string): void {
        collected.text += more;
      },
      err(more: string): void {
        collected.trouble += more;
      },
      table: (head: readonly string[], rows: readonly (readonly Cell[])[]): void =>
        void collected.tables.push({ head, rows }),
    },
  };
  return collected;
}

export interface HostRun {
  readonly name: string;
  readonly argv: readonly string[];
  readonly io: Io;
  readonly signal: AbortSignal;
  /** Asks for the plan in the place of what would change the host. */
  readonly isDryRun: boolean;
  /** Of the plan that was shown. */
  readonly planToken?: string | undefined;
}

/**
 * Why a command did not end at a host as usual. `unknown`: it was started, how it ended is not known; `leftAlone`: Ctrl-C came
 * before anything was done.
 */
export interface Fault {
  readonly kind: "unanswered" | "notDone" | "usage" | "unknown" | "leftAlone";
  readonly text: string;
}

export interface HostResult {
  readonly name: string;
  /** Meaningless where there is a fault. */
  readonly code: number;
  readonly collected: ReturnType<typeof collect>;
  readonly plan: Plan | undefined;
  readonly fault: Fault | undefined;
}

const withoutName = (said: string): readonly string[] =>
  said
    .split("\n")
    .map((line) => oneLine(line.replace(/^steward: /, "")))
    .filter((line) => line !== "");

const failureText = (said: string, error: unknown): string => {
  // Commander has printed a usage error already.
  const why = error instanceof CommanderError ? "" : explainError(error);
  return [...withoutName(said), ...withoutName(why)].join("; ") || "it ended without a reason";
};

export const lookAt = (names: readonly string[]): string =>
  `steward --context ${names.join(",")} operations shows what runs and has run`;

interface Asked extends Pick<CliTime, "timeout"> {
  readonly several: SeveralHosts;
  readonly name: string;
  readonly isDryRun: boolean;
  readonly planToken?: string | undefined;
  readonly interrupted: AbortSignal;
}

function faultOfTime({ several, name, isDryRun, interrupted }: Asked): Fault {
  if (isDryRun && interrupted.aborted) return { kind: "leftAlone", text: "ended by Ctrl-C" };
  const seconds = (isDryRun ? several.readMs : several.changeMs) / 1000;
  const late = `no answer within ${seconds} s (--host-timeout says how long to wait)`;
  if (isDryRun) return { kind: "unanswered", text: late };
  const why = interrupted.aborted ? "ended by Ctrl-C" : `no answer within ${seconds} s`;
  return { kind: "unknown", text: `it was started, and how it ended is not known: ${why} (${lookAt([name])})` };
}

function faultOfError({ name, isDryRun }: Asked, said: string, error: unknown): Fault {
  const text = failureText(said, error);
  if (error instanceof CommanderError) return { kind: "usage", text };
  if (isDryRun) return { kind: "unanswered", text };
  if (!isOutOfReach(error) || isRefused(error)) return { kind: "notDone", text };
  // A command that knows more has said so, and where to look.
  return {
    kind: "unknown",
    text: said === "" ? `${text}; whether it was done is not known (${lookAt([name])})` : text,
  };
}

export async function askHost(run: (each: HostRun) => Promise<number>, asked: Asked): Promise<HostResult> {
  const { several, name, isDryRun, planToken, timeout, interrupted } = asked;
  const collected = collect();
  const ended = { name, code: exitCode.couldNotRun, collected, plan: undefined, fault: undefined };
  if (interrupted.aborted) return { ...ended, fault: { kind: "leftAlone", text: "nothing was done: ended by Ctrl-C" } };
  const limit = timeout(isDryRun ? several.readMs : several.changeMs);
  const signal = AbortSignal.any([limit, interrupted]);
  const over = new Promise<"over">((resolve) => signal.addEventListener("abort", () => resolve("over")));
  const argv = ["--context", name, ...several.argv];
  try {
    const code = await Promise.race([run({ name, argv, io: collected.io, signal, isDryRun, planToken }), over]);
    return code === "over" ? { ...ended, fault: faultOfTime(asked) } : { ...ended, code };
  } catch (error) {
    if (error instanceof PlanShown) return { ...ended, code: exitCode.fine, plan: error.plan };
    const fault = signal.aborted ? faultOfTime(asked) : faultOfError(asked, collected.trouble, error);
    return { ...ended, fault };
  }
}
