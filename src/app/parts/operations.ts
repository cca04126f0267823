import { openOperationStore } from "#adapters/operations/index.ts";
import { createTaskLauncher } from "#adapters/operations/launcher.ts";
import { ownProcess } from "#adapters/operations/process.ts";
import { createOperationId } from "#adapters/operations/record.ts";
import type { Keyring } from "#domain/access/keyring.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { allows } from "#domain/access/scopes.ts";
import { createOperationEnds, type EndedOperation, recordInterrupted } from "#domain/audit/operation-ends.ts";
import { operationHandlers } from "#domain/operations/handlers.ts";
import { createOperations } from "#domain/operations/operations.ts";
import { isFinished } from "#domain/operations/state.ts";
import { createOperationStream } from "#domain/operations/stream.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { OperationStore, ProcessIdentity, TaskLauncher } from "#domain/ports/operations.ts";
import { requireOperationScopes } from "#domain/updates/cancel-scopes.ts";
import { updateKinds } from "#domain/updates/verbs.ts";
import type { RootSide } from "#root/request.ts";
import type { Tracer } from "#telemetry/tracing.ts";
import { encodeTextFrame } from "#transports/ws/index.ts";
import { operationProgram } from "../operation-program.ts";
import type { PartContext } from "../part.ts";
import type { TracedParts } from "../tracing/tracing.ts";

export function createOperationsPart(
  ports: Pick<PartContext, "clock" | "log" | "createId"> & {
    readonly store: OperationStore;
    readonly launcher: TaskLauncher;
    readonly self: ProcessIdentity;
    readonly audit: AuditLog;
    readonly tracer: Tracer | undefined;
    readonly hasEnded: Keyring["hasEnded"];
  },
) {
  const { clock, log, audit, tracer } = ports;
  const listeners = new Set<(operation: EndedOperation) => void>();
  const ends = createOperationEnds({
    log: audit,
    clock,
    onEnded(operation) {
      for (const listener of listeners) listener(operation);
    },
  });
  const operations = createOperations({
    store: ports.store,
    launcher: ports.launcher,
    clock,
    createId: ports.createId,
    kinds: updateKinds,
    self: ports.self,
    traceparent: () => tracer?.headers()["traceparent"],
    onEnded: ends.ended,
    onTrouble: (error) => log.error({ err: error }, "cannot record operation"),
  });
  const stopping = new AbortController();
  return {
    handlers: operationHandlers({
      operations,
      requireScopes: (spec, context) => requireOperationScopes({ covers: allows, lackOf: scopeLack }, spec, context),
      clock,
      hasEnded: ports.hasEnded,
      stopping: stopping.signal,
    }),
    stream: createOperationStream({ operations, encode: encodeTextFrame }),
    operations,
    /** Reports the end of each operation once, also of those that ended while the service was down. */
    onEnded: (listener: (operation: EndedOperation) => void): void => void listeners.add(listener),
    /** Records what ended while the service was down, or with it; reading a long log takes a while. */
    async ready(): Promise<void> {
      const { signal } = stopping;
      const finished = operations.list().filter(({ state }) => isFinished(state.status));
      try {
        await recordInterrupted({ log: audit, clock }, signal);
        await ends.resume(finished.toReversed(), signal);
      } catch (error) {
        if (!signal.aborted)
          log.error({ err: error }, "cannot record operations that ended while the service was down");
      }
    },
    stop(): void {
      stopping.abort();
      operations.dispose();
    },
  };
}

export function buildOperationsPart(
  context: PartContext,
  ports: {
    readonly audit: AuditLog;
    readonly rootSide: RootSide | undefined;
    readonly traced: TracedParts;
    readonly tracer: Tracer | undefined;
    readonly isSafeMode: boolean;
    readonly hasEnded: Keyring["hasEnded"];
  },
) {
  const { config } = context;
  const { audit, rootSide, traced, tracer, isSafeMode, hasEnded } = ports;
  const { stateDir } = config;
  const store = rootSide?.store ?? openOperationStore({ stateDir });
  const launcher =
    rootSide?.launcher ??
    createTaskLauncher({
      exec: traced.exec,
      startDetached: traced.startDetached,
      stateDir,
      program: operationProgram(config, isSafeMode),
    });
  return {
    ...createOperationsPart({ ...context, store, launcher, self: ownProcess(), audit, tracer, hasEnded }),
    store,
  };
}

export const createIds =
  ({ now }: Pick<PartContext["clock"], "now">) =>
  (): string =>
    createOperationId(now());
