import { createReboots } from "#adapters/logind/index.ts";
import type { PartContext } from "#app/part.ts";
import type { TracedParts } from "#app/tracing/tracing.ts";
import type { Operations } from "#domain/operations/operations.ts";
import { isFinished } from "#domain/operations/state.ts";
import type { Reboots } from "#domain/ports/reboots.ts";
import { rebootHandlers } from "#domain/system/reboot.ts";
import type { RootSide } from "#root/request.ts";
import { throughRoot } from "#root/through-root.ts";

export function createRebootPart(
  ports: Pick<PartContext, "clock"> & {
    readonly reboots: Reboots;
    readonly operations: Pick<Operations, "list">;
  },
) {
  const { clock, reboots, operations } = ports;
  const busyWith = (): string | undefined => operations.list().find(({ state }) => !isFinished(state.status))?.spec.id;
  return rebootHandlers({ reboots, busyWith, clock });
}

export function buildRebootPart(
  context: PartContext,
  ports: {
    readonly operations: Operations;
    readonly traced: Pick<TracedParts, "exec">;
    readonly rootSide: RootSide | undefined;
  },
) {
  const { operations, traced, rootSide } = ports;
  const reboots = throughRoot(createReboots(traced), rootSide, (request) => ({
    state: (signal) => request("reboot.state", {}, signal),
    schedule: (at, options, signal) => request("reboot.schedule", { at, ...options }, signal),
    cancel: (signal) => request("reboot.cancel", {}, signal),
  }));
  return createRebootPart({ ...context, reboots, operations });
}
