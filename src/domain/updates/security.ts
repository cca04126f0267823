import type { UpdateApply } from "#contract/updates.ts";
import type { UpdateRequest } from "#domain/ports/packages.ts";
import type { HostUpdates } from "#domain/ports/snapshots.ts";
import { counted } from "#kernel/text.ts";
import type { ApplyInput } from "./apply-steps.ts";
import { changeTexts } from "./change-plan.ts";

const requestFor = (names: readonly string[]): UpdateRequest => ({ type: "packages", isSecurityOnly: true, names });

/** Installs security updates of chosen packages, for the fix of a health check. */
export function createSecurityUpdater(ports: {
  readonly host: () => Promise<HostUpdates | undefined>;
  /** Runs an operation, reports its id at once, and waits for its result. @throws Error when it failed. */
  readonly apply: (
    work: { readonly input: ApplyInput; readonly planned: readonly string[] },
    signal: AbortSignal,
    onOperation: (operationId: string) => void,
  ) => Promise<UpdateApply>;
  readonly takesSnapshot: boolean;
}) {
  const { host, apply, takesSnapshot } = ports;
  return {
    async plan(names: readonly string[], signal: AbortSignal) {
      const manager = (await host())?.manager;
      if (manager === undefined) throw new Error("this host has no package manager that is supported");
      const plan = await manager.plan(requestFor(names), signal);
      return {
        packages: plan.changes.map(({ name }) => name),
        changes: changeTexts(plan),
        downloadBytes: plan.downloadBytes,
        isGuarded: takesSnapshot,
      };
    },
    async apply(
      names: readonly string[],
      { changes: planned }: { readonly changes: readonly string[] },
      signal: AbortSignal,
      onOperation: (operationId: string) => void = () => undefined,
    ): Promise<string> {
      const input = { request: requestFor(names), takesSnapshot, isGuarded: takesSnapshot };
      const result = await apply({ input, planned }, signal, onOperation);
      const { packages_updated: updated, snapshot_id: snapshot, requires_reboot: needsReboot } = result;
      const { success, error, guard } = result;
      const behind = snapshot === "" ? "" : ` behind the snapshot ${snapshot}`;
      const done = `${counted(updated, "package")} updated${behind}`;
      if (!success) throw new Error(`${error ?? "it did not succeed"}; ${done}`);
      return `${done}${guard === undefined ? "" : `; ${guard.message}`}${needsReboot ? "; a reboot completes it" : ""}`;
    },
  };
}
