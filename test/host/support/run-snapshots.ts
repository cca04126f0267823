import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import { createAttributes } from "#adapters/snapshots/packages/attributes.ts";
import { createPackageSnapshots } from "#adapters/snapshots/packages/index.ts";
import { createRefresh } from "#adapters/snapshots/packages/restore-tree.ts";
import type { PackageChange } from "#domain/ports/packages.ts";

// Runs inside the guest: node run-snapshots.ts DIRECTORY VERB ID [JSON]. Prints the answer, or what it threw, as JSON.
const [directory = "", verb = "", id = "", given = "{}"] = process.argv.slice(2);
const needsReboot = () => Promise.resolve(false);
const { files } = apt.open({ exec, clock: systemClock, lockWaitMs: 2_000, needsReboot });
const snapshots = createPackageSnapshots({
  directory,
  files,
  clock: systemClock,
  refresh: createRefresh({ exec }),
  attributes: createAttributes({ exec }),
});
const lines: string[] = [];
const progress = { step: () => undefined, line: (text: string) => lines.push(text) };
const signal = AbortSignal.timeout(110_000);
const changes = (): readonly PackageChange[] => (JSON.parse(given) as { changes?: PackageChange[] }).changes ?? [];

const verbs: Readonly<Record<string, () => Promise<unknown>>> = {
  list: () => snapshots.list(signal),
  create: () =>
    snapshots.create({ id, description: "a test", kind: "before_update", changes: changes(), progress }, signal),
  remove: () => snapshots.remove(id, signal),
  diff: () => snapshots.diff(id, signal),
  verify: () => snapshots.verify(id, signal),
  async rollback() {
    const outcome = await snapshots.rollback(id, { id: `back-${id}`, progress, etc: "all" }, signal);
    // As the updates do when the outcome is written down.
    await snapshots.tidy(() => Promise.resolve(), signal);
    return outcome;
  },
};
const run = verbs[verb];
if (run === undefined) throw new Error(`cannot run ${verb}: there is no such verb`);
const answer = await run().then(
  (result) => ({ result: result ?? null, lines }),
  (error: unknown) => ({ error: error instanceof Error ? `${error.name}: ${error.message}` : String(error), lines }),
);
process.stdout.write(JSON.stringify(answer));
