import { Accepted } from "#contract/operation-entry.ts";
import type { UpdateApply } from "#contract/updates.ts";
import { takeUpInterrupted } from "#domain/audit/interrupted.ts";
import { createOperationEnds } from "#domain/audit/operation-ends.ts";
import type { Hooks } from "#domain/common/hooks.ts";
import { beginOperation } from "#domain/operations/begin.ts";
import { createOperations } from "#domain/operations/operations.ts";
import { isFinished } from "#domain/operations/state.ts";
import type { LongWork } from "#domain/updates/handlers.ts";
import { createSecurityUpdater } from "#domain/updates/security.ts";
import { type UpdateKind, type UpdateWork, updateKinds } from "#domain/updates/verbs.ts";
import type { ServicePorts } from "./ports.ts";
import { requireConsent } from "./update-hooks.ts";

/** The result of an operation that was waited for. */
function waitedFor<T>(answer: T | Accepted): T {
  if (answer instanceof Accepted) throw new Error("cannot wait for an operation that was only accepted");
  return answer;
}

/** Updates and what belongs to them: operations, what hooks say to them, and the security updates of a fix. */
export function createLongWork(
  ports: Pick<
    ServicePorts,
    | "audit"
    | "clock"
    | "createId"
    | "hostUpdates"
    | "log"
    | "operationStore"
    | "self"
    | "takesSnapshot"
    | "taskLauncher"
    | "tracer"
  >,
  hooks: Hooks,
  pluginsStarted: Promise<void>,
) {
  const { clock, log } = ports;
  const consent = async <K extends UpdateKind>(
    kind: K,
    input: UpdateWork[K]["input"],
    keyId: string | null,
  ): Promise<void> => {
    // Hooks that are about to be there are not passed by.
    await pluginsStarted;
    await requireConsent(hooks, kind, input, keyId);
  };
  const operationEnds = createOperationEnds({ log: ports.audit, clock });
  const operations = createOperations({
    store: ports.operationStore,
    launcher: ports.taskLauncher,
    clock,
    createId: ports.createId,
    kinds: updateKinds,
    self: ports.self,
    traceparent: () => ports.tracer?.headers()["traceparent"],
    onEnded: operationEnds.ended,
    onTrouble: (error) => log.error({ err: error }, "operation disturbed"),
  });
  const security = createSecurityUpdater({
    host: ports.hostUpdates,
    takesSnapshot: ports.takesSnapshot,
    async apply(input, signal, onOperation) {
      const touched = ({ operation_id: id = "" }: Readonly<Record<string, string>>): void => onOperation(id);
      const wishes = { caller: undefined, touched, prefersAsync: false, idempotencyKey: undefined };
      const kind = "updates.apply";
      const context = { ...wishes, signal: () => signal };
      const ask = (): Promise<void> => consent(kind, input, null);
      return waitedFor(await beginOperation<UpdateApply>(operations, { kind, input }, context, ask));
    },
  });
  const longWork: LongWork = {
    async begin(kind, input, context, check) {
      const wishes = { prefersAsync: context.prefersAsync(), idempotencyKey: context.idempotencyKey() };
      return beginOperation<UpdateWork[typeof kind]["result"]>(
        operations,
        { kind, input },
        { caller: context.caller, signal: context.signal, touched: context.touched, ...wishes },
        async () => {
          await check?.();
          await consent(kind, input, context.caller?.keyId ?? null);
        },
      );
    },
  };
  return {
    operations,
    longWork,
    security,
    /** Writes down what ended while the service was away, or with it; reading a long log takes a while, and nobody is to wait for it. */
    takeUpEnds: (signal: AbortSignal): void => {
      const finished = operations.list().filter(({ state }) => isFinished(state.status));
      const takeUp = async (): Promise<void> => {
        await takeUpInterrupted({ log: ports.audit, clock }, signal);
        await operationEnds.takeUp(finished.toReversed(), signal);
      };
      takeUp().catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, "what ended while the service was away is not written down");
      });
    },
  };
}
