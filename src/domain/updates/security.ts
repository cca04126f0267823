import type { UpdateApply } from "#contract/updates.ts";
import type { UpdateRequest } from "#domain/ports/packages.ts";
import type { HostUpdates } from "#domain/ports/snapshots.ts";
import { counted } from "#kernel/text.ts";
import type { ApplyInput } from "./apply-steps.ts";

const requestFor = (names: readonly string[]): UpdateRequest => ({ type: "packages", isSecurityOnly: true, names });

/** Installs security updates of chosen packages, for the fix of a health check. */
export function createSecurityUpdater(ports: {
  readonly host: () => Promise<HostUpdates>;
  /** Runs an operation, reports its id at once, and waits for its result. @throws Error when it failed. */
  readonly apply: (
    input: ApplyInput,
    signal: AbortSignal,
    onOperation: (operationId: string) => void,
  ) => Promise<UpdateApply>;
  readonly takesSnapshot: boolean;
}) {
  const { host, apply, takesSnapshot } = ports;
  return {
    async plan(names: readonly string[], signal: AbortSignal) {
      const { manager, backends } = await host();
      if (manager === undefined) throw new Error("this host has no package manager that is supported");
      const { changes, downloadBytes } = await manager.simulate(requestFor(names), signal);
      const hasSnapshot = takesSnapshot && backends.length > 0;
      return { packages: changes.map(({ name }) => name), downloadBytes, hasSnapshot };
    },
    async apply(
      names: readonly string[],
      signal: AbortSignal,
      onOperation: (operationId: string) => void = () => undefined,
    ): Promise<string> {
      const result = await apply({ request: requestFor(names), takesSnapshot, isGuarded: false }, signal, onOperation);
      const { success, packages_updated: updated, snapshot_id: snapshot, error, requires_reboot: needsReboot } = result;
      const done = `${counted(updated, "package")} updated${snapshot === "" ? "" : ` behind the snapshot ${snapshot}`}`;
      if (!success) throw new Error(`${error ?? "it did not succeed"}; ${done}`);
      return `${done}${needsReboot ? "; a reboot completes it" : ""}`;
    },
  };
}
