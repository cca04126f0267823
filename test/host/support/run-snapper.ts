import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { createDatabase, readPresent } from "#adapters/packages/apt/database.ts";
import type { InstalledIn } from "#adapters/snapshots/snapper/index.ts";
import { carryStateToNextBoot, createSnapperBackend, detectSnapper } from "#adapters/snapshots/snapper/index.ts";
import type { RollbackPhase } from "#domain/updates/rollback.ts";
import { rollBack } from "#domain/updates/rollback.ts";
import { expired } from "#domain/updates/snapshot.ts";

// Runs inside the guest: node run-snapper.ts VERB ID STATE_DIR. Prints the answer, or what it threw, as JSON.
const [verb = "", id = "", stateDir = "/var/lib/steward"] = process.argv.slice(2);
const signal = AbortSignal.timeout(110_000);
const lines: string[] = [];
const progress = { step: () => undefined, line: (text: string) => lines.push(text) };

/** Kept in the state folder, as operations are. */
const phaseFile = join(stateDir, "phase.json");
const work = () => ({
  id: `operation-${id}`,
  progress,
  phase: existsSync(phaseFile) ? (JSON.parse(readFileSync(phaseFile, "utf8")) as RollbackPhase) : undefined,
  savePhase: (phase: RollbackPhase) => writeFileSync(phaseFile, JSON.stringify(phase), { flush: true }),
  signal,
});

const installed: InstalledIn = async (root) => {
  const dpkg = join(root, "var/lib/dpkg");
  const database = createDatabase({ status: join(dpkg, "status"), updates: join(dpkg, "updates") });
  const present = await readPresent(database, join(root, "var/lib/apt/extended_states"));
  return present.filter(({ state }) => state === "installed");
};

const run = async (): Promise<unknown> => {
  const found = await detectSnapper({ exec, packageDatabase: "/var/lib/dpkg" }, signal);
  if (verb === "detect" || !found.isUsable) return found;
  const ports = { exec, clock: systemClock, installed, stateDir, config: found.config, layout: found.layout };
  const snapshots = createSnapperBackend(ports);
  const verbs: Readonly<Record<string, () => Promise<unknown>>> = {
    list: () => snapshots.list(signal),
    create: () =>
      snapshots.create({ id, description: "--a test, x=y", kind: "before_update", changes: [], progress }, signal),
    cancelled: () =>
      snapshots.create({ id, description: "", kind: "manual", changes: [], progress }, AbortSignal.timeout(60)),
    remove: () => snapshots.remove(id, signal),
    diff: () => snapshots.diff(id, signal),
    verify: () => snapshots.verify(id, signal),
    rollback: () =>
      snapshots.rollback(id, { id: `back-${id.replaceAll(/[^\d-]/g, "")}`, progress, etc: "all" }, signal),
    operation: () => rollBack({ snapshotId: id }, { backend: snapshots, clock: systemClock }, work()),
    expired: async () => expired(await snapshots.list(signal), { count: 0, ageMs: 0, nowMs: Date.now() }),
    carry: () => carryStateToNextBoot({ ...ports, carried: [ports.stateDir] }, signal),
  };
  const chosen = verbs[verb];
  if (chosen === undefined) throw new Error(`cannot run ${verb}: there is no such verb`);
  return chosen();
};

const answer = await run().then(
  (result) => ({ result: result ?? null, lines }),
  (error: unknown) => ({ error: error instanceof Error ? `${error.name}: ${error.message}` : String(error), lines }),
);
process.stdout.write(JSON.stringify(answer));
