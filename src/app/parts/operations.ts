import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { openOperationStore } from "#adapters/operations/index.ts";
import { createTaskLauncher, type TaskProgram } from "#adapters/operations/launcher.ts";
import { ownProcess } from "#adapters/operations/process.ts";
import type { PartContext } from "#app/part.ts";
import type { Config } from "#config/load.ts";
import { safeModeVariable } from "#config/places.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { allows } from "#domain/access/scopes.ts";
import { createOperationEnds, type EndedOperation, recordInterrupted } from "#domain/audit/operation-ends.ts";
import { operationHandlers } from "#domain/operations/handlers.ts";
import { createOperations } from "#domain/operations/operations.ts";
import { isFinished } from "#domain/operations/state.ts";
import { createOperationStream } from "#domain/operations/stream.ts";
import type { OperationStore, ProcessIdentity, TaskLauncher } from "#domain/ports/operations.ts";
import { requireOperationScopes } from "#domain/updates/package-changes.ts";
import { updateKinds } from "#domain/updates/verbs.ts";
import { createEmitter } from "#kernel/async.ts";
import type { RootSide } from "#root/request.ts";
import { encodeTextFrame } from "#transports/ws/index.ts";
import type { AccessPart } from "./access.ts";
import type { AuditPart } from "./audit.ts";
import type { TracesPart } from "./host.ts";

interface Earlier {
  readonly audit: Pick<AuditPart, "log">;
  readonly access: Pick<AccessPart, "hasEnded">;
  readonly traces: Pick<TracesPart, "traced" | "tracer">;
  readonly rootSide: RootSide | undefined;
}

interface OperationAdapters {
  readonly store: OperationStore;
  readonly launcher: TaskLauncher;
  readonly self: ProcessIdentity;
}

/** What runs an operation in a process of its own. */
export function operationProgram(
  { stateDir, file, settings }: Pick<Config, "stateDir" | "file" | "settings">,
  isSafeMode = false,
): TaskProgram {
  const main = fileURLToPath(new URL("../../main.ts", import.meta.url));
  const journal = settings.journal?.dir;
  const environment = {
    STEWARD_STATE_DIR: resolve(stateDir),
    ...(file !== undefined && { STEWARD_CONFIG: resolve(file) }),
    ...(journal !== undefined && { STEWARD_JOURNAL_DIR: resolve(journal) }),
    ...(isSafeMode && { [safeModeVariable]: "1" }),
  };
  return { argv: [process.execPath, main, "task", "run"], environment };
}

function openOperations({ config, isSafeMode }: PartContext, { traces, rootSide }: Earlier): OperationAdapters {
  const self = ownProcess();
  if (rootSide !== undefined) return { store: rootSide.store, launcher: rootSide.launcher, self };
  const { stateDir } = config;
  const { exec, startDetached } = traces.traced;
  const program = operationProgram(config, isSafeMode);
  return {
    store: openOperationStore({ stateDir }),
    launcher: createTaskLauncher({ exec, startDetached, stateDir, program }),
    self,
  };
}

export function operationsPart(context: PartContext, earlier: Earlier, adapters = openOperations(context, earlier)) {
  const { clock, log, createId } = context;
  const { access, traces } = earlier;
  const audit = earlier.audit.log;
  const ended = createEmitter<EndedOperation>();
  const ends = createOperationEnds({ log: audit, clock, onEnded: ended.emit });
  const operations = createOperations({
    ...adapters,
    clock,
    createId,
    kinds: updateKinds,
    traceparent: () => traces.tracer?.headers()["traceparent"],
    onEnded: ends.ended,
    onTrouble: (error) => log.error({ err: error }, "cannot record operation"),
  });
  const stopping = new AbortController();
  return {
    handlers: operationHandlers({
      operations,
      requireScopes: (spec, context) => requireOperationScopes({ covers: allows, lackOf: scopeLack }, spec, context),
      clock,
      hasEnded: access.hasEnded,
      stopping: stopping.signal,
    }),
    stream: createOperationStream({ operations, encode: encodeTextFrame }),
    operations,
    /** Reports the end of each operation once, also of those that ended while the service was down. */
    onEnded: ended.on,
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

export type OperationsPart = ReturnType<typeof operationsPart>;
