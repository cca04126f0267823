import { join } from "node:path";
import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { createConfigFiles } from "#adapters/packages/config-files.ts";
import { backends } from "#adapters/packages/index.ts";
import { createFileSystems } from "#adapters/procfs/file-systems.ts";
import { createRebootNeed } from "#adapters/reboot/index.ts";
import { createAttributes } from "#adapters/snapshots/packages/attributes.ts";
import { createPackageSnapshots } from "#adapters/snapshots/packages/index.ts";
import { createRefresh } from "#adapters/snapshots/packages/restore-tree.ts";
import { statusCheckId } from "#contract/check-meanings.ts";
import { packageStatusCheck } from "#domain/health/checks/package-status.ts";
import { securityUpdatesCheck } from "#domain/health/checks/security-updates.ts";
import type { FoundPackage, LoggedTransaction } from "#domain/ports/package-catalog.ts";
import type { PackageManager, TransactionPlan, UpdateRequest } from "#domain/ports/packages.ts";
import { planFor } from "#domain/updates/change-plan.ts";
import { downgradeRules } from "#domain/updates/downgrades.ts";
import { doneOf, packagesNow } from "#domain/updates/transaction.ts";
import { updateVerbs } from "#domain/updates/verbs.ts";
import type { Described, GoneOn, PackageWork } from "./package-work.ts";

// Runs inside the guest: node run-packages.ts MANAGER ROOT WORK. Prints what came of it as JSON.
const [name = "", root = "", given = ""] = process.argv.slice(2);
const lines: string[] = [];
const steps: number[] = [];
const progress = { step: (percent: number) => void steps.push(percent), line: (text: string) => void lines.push(text) };
let asked = 0;
const counted: Exec = (...words) => {
  asked += 1;
  return exec(...words);
};
function open(): PackageManager {
  const known = Object.entries(backends).find(([program]) => program === name)?.[1];
  const needsReboot = () => Promise.resolve(false);
  const ports = { exec: counted, clock: systemClock, lockWaitMs: 3000, needsReboot, root };
  if (known === undefined) throw new Error(`no package manager is called ${name}`);
  return known.open(ports);
}
const manager = open();
const { files } = manager;
const signal = AbortSignal.timeout(300_000);

const check = (id: string) =>
  (id === "security_updates"
    ? securityUpdatesCheck({ packages: manager, clock: systemClock })
    : packageStatusCheck({ packages: manager, clock: systemClock })
  ).run({ ignore: [] }, signal);

/** Where packages are updated all together or not at all, no other question makes sense. */
const type = name === "pacman" ? "all" : "packages";

const whole = (request: Partial<UpdateRequest>): UpdateRequest => ({
  type,
  isSecurityOnly: false,
  names: undefined,
  ...request,
});

const simulate = (request: Partial<UpdateRequest>): Promise<TransactionPlan> => manager.plan(whole(request), signal);

const noUnits = (): Promise<never> => Promise.reject(new Error("nothing is restarted here"));

const backend = createPackageSnapshots({
  directory: join(root, "var/lib/steward/snapshots"),
  files,
  clock: systemClock,
  refresh: createRefresh({ exec }),
  attributes: createAttributes({ exec }),
  etc: join(root, "etc"),
  rebootFlag: join(root, "run/reboot-required"),
});

/** The work of the updates part, with snapshots of the tree's packages and its /etc. */
const engine = () =>
  updateVerbs({
    manager,
    backend,
    condition: {
      look: () => Promise.reject(new Error("nothing is guarded here")),
      restart: () => Promise.reject(new Error("nothing is guarded here")),
    },
    newErrors: { between: () => Promise.reject(new Error("nothing is guarded here")) },
    clock: systemClock,
    guard: { guardMs: 0, enoughMs: 0 },
    configFiles: createConfigFiles(join(root, "etc")),
    keepSnapshots: 10,
    stale: {
      code: { find: noUnits },
      units: { read: noUnits, restart: noUnits, settled: noUnits },
      reboot: createRebootNeed(),
    },
    rules: downgradeRules(),
    fileSystems: createFileSystems({ clock: systemClock }),
  });
/** An operation that nobody interrupts. */
const operation = (id: string) => ({ id, progress, phase: undefined, savePhase: () => undefined, signal });

/** Brings the files of packages into the directory and says where each came from. */
async function fetchAll(names: readonly string[], directory: string) {
  const present = await files.present(signal);
  const wanted = present.filter((each) => names.includes(each.name));
  return Promise.all(wanted.map((each) => files.fetch(each, directory, signal)));
}

/** How often a program is run for a second look. */
async function countAgain(): Promise<number> {
  const look = async () => [
    await manager.lists.updates(signal),
    await check(statusCheckId(manager.name)),
    await check("security_updates"),
    await manager.lists.refreshedAt(),
  ];
  await look();
  asked = 0;
  await look();
  return asked;
}

/** Goes on with a plan at once, as the next process of an update does. */
async function goOn(id: string, plan: TransactionPlan): Promise<GoneOn> {
  await manager.transactions.settle(id, signal);
  const repaired = await manager.transactions.repair({ id, progress }, signal);
  const done = doneOf(plan, await packagesNow(plan, manager, signal));
  const rest = { ...plan, changes: plan.changes.filter((change) => !done.includes(change)) };
  const committed = await manager.transactions.commit(rest, { id, progress }, signal);
  const left = await manager.transactions.audit(signal);
  const { status } = await check(statusCheckId(manager.name));
  return { repaired, committed, installed: await manager.installed(signal), left, status };
}

async function search(words: readonly string[]): Promise<readonly FoundPackage[]> {
  const { names, read } = await manager.catalog.search(words, signal);
  return names.map((_, at) => read(at));
}
const describe = async (wanted: string): Promise<Described> => ({
  details: (await manager.catalog.show(wanted, signal)) ?? null,
  requiring: await manager.catalog.requiring(wanted, signal),
  files: (await manager.catalog.filesOf(wanted, signal)) ?? null,
});

async function history(): Promise<readonly LoggedTransaction[]> {
  const logged: LoggedTransaction[] = [];
  for await (const each of manager.catalog.history(signal)) logged.push(each);
  return logged;
}

async function carryOut(work: PackageWork): Promise<unknown> {
  switch (work.verb) {
    case "check":
      return check(work.id);
    case "countAgain":
      return countAgain();
    case "updates":
      return manager.lists.updates(signal);
    case "installed":
      return manager.installed(signal);
    case "release":
      return manager.lists.release(signal);
    case "refresh":
      return manager.lists.refresh(progress, signal);
    case "simulate":
      return simulate(work.request);
    case "planChange":
      return planFor(manager, work.request, signal);
    case "commit":
      return manager.transactions.commit(work.plan, { id: work.id, progress }, signal);
    case "goOn":
      return goOn(work.id, work.plan);
    case "settle":
      return manager.transactions.settle(work.id, signal);
    case "repair":
      return manager.transactions.repair({ id: work.id, progress }, signal);
    case "audit":
      return manager.transactions.audit(signal);
    case "restartNeeds":
      return manager.restartNeeds(signal);
    case "finish":
      return manager.repairs.finish(signal);
    case "planMissing":
      return manager.repairs.planMissing([], signal);
    case "installMissing":
      return manager.repairs.installMissing(await manager.repairs.planMissing([], signal), signal);
    case "fetch":
      return fetchAll(work.names, work.directory);
    case "identify":
      return files.identify(work.path, signal);
    case "restore":
      return files.restore(work.target, { id: work.id, progress }, signal);
    case "apply": {
      const { requiresFull = false } = work;
      const input = { request: whole(work.request), takesSnapshot: true, isGuarded: false, requiresFull };
      return engine()["updates.apply"](input, operation(work.id));
    }
    case "change": {
      const input = { request: work.request, takesSnapshot: true, isGuarded: false };
      return engine()["packages.change"](input, operation(work.id));
    }
    case "rollback":
      return engine()["updates.rollback"](
        { snapshotId: work.snapshotId, partial: work.partial ?? false },
        operation(work.id),
      );
    case "snapshots":
      return backend.list(signal);
    case "hold": {
      const packages = (await manager.installed(signal)).filter(({ name: each }) => work.names.includes(each));
      return manager.holds.set({ isHeld: work.isHeld, packages }, signal);
    }
    case "search":
      return search(work.words);
    case "describe":
      return describe(work.name);
    case "history":
      return history();
    case "lacking": {
      const present = await files.present(signal);
      return backend.lacking(
        present.filter(({ name: each }) => work.names.includes(each)),
        signal,
      );
    }
  }
}

try {
  const result = await carryOut(JSON.parse(given) as PackageWork);
  process.stdout.write(JSON.stringify({ result: result ?? null, lines, steps }));
} catch (error) {
  if (!(error instanceof Error)) throw error;
  process.stdout.write(JSON.stringify({ error: `${error.name}: ${error.message}`, lines, steps }));
}
