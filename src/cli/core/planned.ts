import type { LongOperationName } from "#client/background.ts";
import type { Answer } from "#client/index.ts";
import type { operations } from "#contract/index.ts";
import type { Input, Plan } from "#contract/operation.ts";
import { exitCode, printJson } from "../output/output.ts";
import { withProgress } from "../output/progress.ts";
import { type LongOptions, runLong } from "./operation-follow.ts";
import { asPlan, ioOfPlan, isWanted, printPlan } from "./plan.ts";
import type { CommandPorts, Connection } from "./ports.ts";

export interface PlannedOptions extends LongOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** Shows the plan of an operation, asks, begins it and follows it. @returns its answer; undefined where all has been printed. */
export async function runPlanned<K extends LongOperationName>(
  ports: Pick<CommandPorts, "io" | "person" | "finish">,
  connection: Connection,
  call: {
    readonly name: K;
    readonly input: Partial<Input<(typeof operations)[K]>>;
    readonly options: PlannedOptions;
    /** Makes the dry run of the same call. */
    readonly askPlan: () => Promise<unknown>;
    readonly question: (plan: Plan) => string;
  },
): Promise<Answer<K> | undefined> {
  const { io, finish } = ports;
  const { options, askPlan, question } = call;
  const plan = asPlan(await withProgress(io, "asking what would be done", askPlan));
  const isOver = options.dryRun === true || plan.steps.length === 0;
  if (isOver) {
    if (options.json) printJson(io, plan);
    else {
      printPlan(io, plan);
      if (plan.steps.length === 0 && plan.reason === undefined) io.out("nothing to do\n");
    }
    return undefined;
  }
  if (!options.json || !options.yes) printPlan(ioOfPlan(ports, options), plan);
  if (await isWanted(ports, question(plan), options)) return runLong(ports, connection, call);
  finish(exitCode.foundTrouble);
  return undefined;
}
