import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { createPacman } from "#adapters/packages/pacman/index.ts";
import { createPacmanManager } from "#adapters/packages/pacman/manager.ts";
import { pacmanPlaces } from "#adapters/packages/pacman/places.ts";
import { packageStatusCheck } from "#domain/health/checks/package-status.ts";
import { securityUpdatesCheck } from "#domain/health/checks/security-updates.ts";
import type { TransactionPlan, UpdateRequest } from "#domain/updates/ports.ts";
import type { PacmanWork } from "./pacman-host.ts";

// Runs inside the guest: node run-pacman.ts ROOT WORK. Prints what came of it as JSON.
const [root = "", work = ""] = process.argv.slice(2);
const lines: string[] = [];
const steps: number[] = [];
const progress = { step: (percent: number) => void steps.push(percent), line: (text: string) => void lines.push(text) };
let asked = 0;
const counted: Exec = (...given) => {
  asked += 1;
  return exec(...given);
};
const ports = { exec: counted, clock: systemClock, lockWaitMs: 3000, pacmanPlaces: pacmanPlaces(root) };
const manager = createPacmanManager({ ...ports, needsReboot: () => Promise.resolve(false) });
const { states, updates, repairs } = createPacman(ports);
const signal = AbortSignal.timeout(300_000);

const check = (id: "pacman_status" | "security_updates") =>
  (id === "pacman_status"
    ? packageStatusCheck({ packages: states, clock: systemClock })
    : securityUpdatesCheck({ updates, clock: systemClock })
  ).run({ ignore: [] }, signal);

const simulate = (request: Partial<UpdateRequest>): Promise<TransactionPlan> =>
  manager.simulate({ type: "all", isSecurityOnly: false, names: undefined, ...request }, signal);

/** How often a program is run for a second look. */
async function countAgain(): Promise<number> {
  const look = async () => [await manager.updates(signal), await check("pacman_status"), await updates.refreshedAt()];
  await look();
  asked = 0;
  await look();
  return asked;
}

async function carryOut(given: PacmanWork): Promise<unknown> {
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
    case "finish":
      return repairs.finish(signal);
    case "planMissing":
      return repairs.planMissing([], signal);
  }
}

try {
  const result = await carryOut(JSON.parse(work) as PacmanWork);
  process.stdout.write(JSON.stringify({ result: result ?? null, lines, steps }));
} catch (error) {
  if (!(error instanceof Error)) throw error;
  process.stdout.write(JSON.stringify({ error: `${error.name}: ${error.message}`, lines, steps }));
}
