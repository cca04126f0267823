import type { FixStepReport } from "#contract/checks.ts";
import type { Risk } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import type { ManagerCommands, PackageManager } from "#domain/ports/packages.ts";
import type { Check, Outcome } from "./check.ts";

/** Called with the id of an operation as soon as it has started. */
export type OnOperation = (operationId: string) => void;

export interface FixStep {
  /** In the imperative, with names: `restart nginx.service`; shown by dry run and report. */
  readonly action: string;
  /**
   * The signal fires when the time of the fix is over or the service ends; an operation that it has started continues.
   * @returns one sentence for people, with figures.
   * @throws with a message for people.
   */
  readonly run: (signal: AbortSignal, onOperation?: OnOperation) => Promise<string>;
}

/** What a fix would do about what a check found. */
export interface FixPlan<Step = FixStep> {
  /** In order; none when nothing can be done, and then `reason` says why. */
  readonly steps: readonly Step[];
  /** Beside steps: what is left alone, and why. */
  readonly reason?: string;
  /**
   * What is compared with the plan that somebody agreed to, in place of steps and reason: needed where these have sizes, or do not
   * name all that is touched, with its version.
   */
  readonly digested?: readonly string[];
  /** All units and packages that are touched: narrowed scopes are compared with these. */
  readonly units?: readonly string[];
  readonly packages?: readonly string[];
  readonly downloadBytes?: number;
  readonly freesBytes?: number;
  readonly requiresReboot?: boolean;
}

/** A plan as people and other processes are reported it: what its steps do stays where it was made. */
export type ToldPlan = FixPlan<Pick<FixStep, "action">>;

/** Fixes what a check found, and nothing else. It never kills processes by name and never deletes lock files. */
export interface Fix {
  readonly id: string;
  readonly summary: string;
  /** `safe`: loses nothing. `moderate`: touches services or replaceable files. `risky`: needs confirmation. */
  readonly risk: Risk;
  /** The scopes besides `health:fix` of all that it does to the host. */
  readonly alsoNeeds: readonly Scope[];
  readonly kind: "packages" | "services" | "clock" | "storage";
  readonly endsOnFailure: boolean;
  /** Whether its plan may be empty: then it is offered only when the plan has steps. */
  readonly mayFindNothing?: boolean;
  /** Ten minutes by default. */
  readonly timeoutMs?: number;
  /** Changes nothing. */
  readonly plan: (found: Outcome, signal: AbortSignal) => Promise<FixPlan>;
}

export interface FixFound {
  readonly found: Outcome;
  /** Undefined where there is nothing to fix, or the fix for it is done in the process that asks. */
  readonly plan?: ToldPlan;
}

/** A fix that another process has planned for what it found itself, and waits to carry out. */
export interface OpenFix extends FixFound {
  /**
   * Carries the plan out, and checks again.
   * @throws when nothing could be done: the message is what people read.
   */
  readonly proceed: (
    signal: AbortSignal,
  ) => Promise<{ readonly steps: readonly FixStepReport[]; readonly after: Outcome }>;
  /** Ends it, done or not. */
  readonly close: () => Promise<void>;
}

/** How many files or packages a step names, these with their versions; of the others it says how many there are. */
export const namedInSteps = 10;

/** The fix of a problem, if there is one. */
export const fixIdOf = ({ fixes: [usual] = [] }: Pick<Check, "fixes">, { fixId }: Outcome): string | undefined =>
  (fixId === undefined ? usual : fixId) ?? undefined;

const noCommands: ManagerCommands = {
  finisher: "the package manager",
  finish: "",
  installMissing: "",
  refreshLists: "",
  hold: "",
  unhold: "",
};

export const commandsOf = (packages: Pick<PackageManager, "commands"> | undefined): ManagerCommands =>
  packages?.commands ?? noCommands;

export function demandManager<T>(packages: T | undefined): T {
  if (packages === undefined) throw new Error("this host has no package manager that could be used");
  return packages;
}

/** A text with remarks in brackets; empty ones are left out. */
export function remarked(text: string, ...remarks: readonly string[]): string {
  const said = remarks.filter((remark) => remark !== "");
  return said.length === 0 ? text : `${text} (${said.join(", ")})`;
}
