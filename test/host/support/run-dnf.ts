import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { createDnf } from "#adapters/packages/dnf/index.ts";
import { createDnfManager } from "#adapters/packages/dnf/manager.ts";
import { createDnfPackageFiles } from "#adapters/packages/dnf/package-files.ts";
import { dnfPlaces } from "#adapters/packages/dnf/places.ts";
import { packageStatusCheck } from "#domain/health/checks/package-status.ts";
import { securityUpdatesCheck } from "#domain/health/checks/security-updates.ts";
import type { PackageFiles, TransactionPlan, UpdateRequest } from "#domain/updates/ports.ts";
import type { DnfWork } from "./rpm-host.ts";

// Runs inside the guest: node run-dnf.ts ROOT WORK. Prints what came of it as JSON.
const [root = "", work = ""] = process.argv.slice(2);
const lines: string[] = [];
const steps: number[] = [];
const progress = { step: (percent: number) => void steps.push(percent), line: (text: string) => void lines.push(text) };
let asked = 0;
const counted: Exec = (...given) => {
  asked += 1;
  return exec(...given);
};
const ports = { exec: counted, clock: systemClock, lockWaitMs: 3000, dnfPlaces: dnfPlaces(root) };
const manager = createDnfManager({ ...ports, needsReboot: () => Promise.resolve(false) });
const { states, updates, repairs } = createDnf(ports);
const files: PackageFiles = createDnfPackageFiles(ports);
const signal = AbortSignal.timeout(300_000);

const check = (id: "dnf_status" | "security_updates") =>
  (id === "dnf_status"
    ? packageStatusCheck({ packages: states, clock: systemClock })
    : securityUpdatesCheck({ updates, clock: systemClock })
  ).run({ ignore: [] }, signal);

const simulate = (request: Partial<UpdateRequest>): Promise<TransactionPlan> =>
  manager.simulate({ type: "packages", isSecurityOnly: false, names: undefined, ...request }, signal);

/** Brings the files of packages into the folder and says where each came from. */
async function fetchAll(names: readonly string[], folder: string) {
  const present = await files.present(signal);
  const wanted = present.filter(({ name }) => names.includes(name));
  return Promise.all(wanted.map((each) => files.fetch(each, folder, signal)));
}

/** How often a program is run for a second look. */
async function countAgain(): Promise<number> {
  const look = async () => [await manager.updates(signal), await check("dnf_status"), await check("security_updates")];
  await look();
  asked = 0;
  await look();
  return asked;
}

async function carryOut(given: DnfWork): Promise<unknown> {
  switch (given.verb) {
    case "check":
      return check(given.id);
    case "countAgain":
      return countAgain();
    case "updates":
      return manager.updates(signal);
    case "installed":
      return manager.installed(signal);
    case "release":
      return manager.release(signal);
    case "refresh":
      return manager.refresh(progress, signal);
    case "simulate":
      return simulate(given.request);
    case "commit":
      return manager.commit(given.plan, { id: given.id, progress }, signal);
    case "settle":
      return manager.settle(given.id, signal);
    case "repair":
      return manager.repair({ id: given.id, progress }, signal);
    case "audit":
      return manager.audit(signal);
    case "restartNeeds":
      return manager.restartNeeds(signal);
    case "finish":
      return repairs.finish(signal);
    case "planMissing":
      return repairs.planMissing([], signal);
    case "installMissing":
      return repairs.installMissing(await repairs.planMissing([], signal), signal);
    case "fetch":
      return fetchAll(given.names, given.folder);
    case "identify":
      return files.identify(given.path, signal);
    case "restore":
      return files.restore(given.target, { id: given.id, progress }, signal);
  }
}

try {
  const result = await carryOut(JSON.parse(work) as DnfWork);
  process.stdout.write(JSON.stringify({ result: result ?? null, lines, steps }));
} catch (error) {
  if (!(error instanceof Error)) throw error;
  process.stdout.write(JSON.stringify({ error: `${error.name}: ${error.message}`, lines, steps }));
}
