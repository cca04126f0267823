import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import { type AskRoot, createAskRoot } from "#adapters/operations/asking.ts";
import { readIfThere } from "#adapters/operations/files.ts";
import { openOperationStore, openSharedOperationStore } from "#adapters/operations/index.ts";
import { createTaskDoor } from "#adapters/operations/launcher.ts";
import { failureName } from "#adapters/operations/record.ts";
import {
  type RootAsk,
  RootAskAnswer,
  type RootAskInput,
  type RootAskOutput,
  rootAsks,
  rootAskTimeoutMs,
} from "#contract/root-tasks.ts";
import { ownSchemas } from "#contract/schema.ts";
import { logRootRequest } from "#domain/audit/root-requests.ts";
import { serviceSide } from "#domain/operations/two-sided.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { OperationStore, TaskLauncher } from "#domain/ports/operations.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { fromWire } from "./errors.ts";
import { places, safeModeName } from "./places.ts";

/** Asks root for one thing of the closed list. @throws what was thrown on root's side. */
export type AskFor = <A extends RootAsk>(
  ask: A,
  input: RootAskInput<A>,
  signal: AbortSignal,
) => Promise<RootAskOutput<A>>;

/** What a service without rights has of root. */
export interface Door {
  readonly store: OperationStore;
  readonly launcher: TaskLauncher;
  readonly ask: AskFor;
}

const ajv = new Ajv(ownSchemas);

const validators = new Map<RootAsk, ValidateFunction>();
function isOutput<A extends RootAsk>(ask: A, value: unknown): value is RootAskOutput<A> {
  const validate = validators.get(ask) ?? ajv.compile(rootAsks[ask].output);
  validators.set(ask, validate);
  return validate(value);
}

const isAnswer = ajv.compile<RootAskAnswer>(RootAskAnswer);

/** Asks in the words of the contract, over whatever carries them. */
export function createAskFor(
  carry: AskRoot,
  /** Is told of each request that changes the host. @returns what is called when there is no answer. */
  onWrite: (id: string, ask: RootAsk) => () => void = () => () => undefined,
): AskFor {
  return async (ask, input, signal) => {
    const options = {
      timeoutMs: rootAskTimeoutMs(ask),
      signal,
      ...(rootAsks[ask].effect === "write" && { onAsk: (id: string) => onWrite(id, ask) }),
    };
    const answer = await carry({ ask, input }, options).catch((error: unknown) => {
      const reason = errorMessage(error);
      throw new Error(`cannot ask root for ${ask}: ${reason}`, { cause: error });
    });
    signal.throwIfAborted();
    if (!isAnswer(answer)) throw new Error(`cannot ask root for ${ask}: its answer is of no kind that is known`);
    if ("error" in answer) throw fromWire(answer.error);
    const { output } = answer;
    if (!isOutput(ask, output)) throw new Error(`cannot ask root for ${ask}: its answer is not what was asked for`);
    return output;
  };
}

/** What root's side could not write into the record of an operation, since the host lacks something. */
function failureOf(id: string): Error | undefined {
  const text = readIfThere(join(places.answersDir, failureName(id)));
  const failure: unknown = text === undefined ? undefined : JSON.parse(text);
  return isAnswer(failure) && "error" in failure ? fromWire(failure.error) : undefined;
}

/** The door of the package, for the service that it is made for. */
export function createDoor(ports: {
  readonly start: (unit: string) => Promise<string>;
  readonly clock: Clock;
  readonly isSafeMode: boolean;
  readonly audit: Pick<AuditLog, "record">;
}): Door {
  const { start, clock, isSafeMode, audit: log } = ports;
  // The folder comes and goes with the service.
  if (isSafeMode) writeFileSync(join(places.runDir, safeModeName), "", { mode: 0o600 });
  const own = openOperationStore({ stateDir: places.stateDir });
  const onLaunch = (id: string) =>
    logRootRequest({ log, clock }, { id, request: own.read(id)?.spec.kind ?? "", operationId: id });
  return {
    store: serviceSide(own, openSharedOperationStore({ stateDir: places.tasksDir })),
    launcher: createTaskDoor({ start, onLaunch, failureOf }),
    ask: createAskFor(createAskRoot({ places, start, clock }), (id, request) =>
      logRootRequest({ log, clock }, { id, request }),
    ),
  };
}
