import { join } from "node:path";
import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import { createAttributes } from "#adapters/snapshots/packages/attributes.ts";
import { createPackageSnapshots } from "#adapters/snapshots/packages/index.ts";
import { createRefresh } from "#adapters/snapshots/packages/restore-tree.ts";
import { freeSnapshotId } from "#domain/updates/snapshot.ts";
import type { ServiceProcess } from "./service.ts";

/**
 * Gives the service a snapshot of the machine that the tests run on, which is as good as any; one by the service would keep package
 * files, too.
 * @returns its id.
 */
export async function takeSnapshotFor({ stateDir }: Pick<ServiceProcess, "stateDir">): Promise<string> {
  const ports = { exec, clock: systemClock };
  const backend = createPackageSnapshots({
    directory: join(stateDir, "snapshots"),
    files: apt.open({ ...ports, needsReboot: () => Promise.resolve(false) }).files,
    clock: systemClock,
    refresh: createRefresh(ports),
    attributes: createAttributes(ports),
  });
  const { signal } = new AbortController();
  const id = await freeSnapshotId(backend, systemClock, signal);
  const progress = { step: () => undefined, line: () => undefined };
  await backend.create({ id, description: "of a test", kind: "manual", changes: [], progress }, signal);
  return id;
}
