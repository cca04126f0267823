import { isChange, noOldKernels, type PackageManager, UpdateRefused } from "#domain/ports/packages.ts";
import { createQuestions } from "../common/manager.ts";
import type { Backend, ManagerPorts } from "../common/ports.ts";
import { orLocked, settle, unitFor } from "../common/transactions.ts";
import { createPacmanCatalog } from "./catalog.ts";
import { createUnremovable, planChange } from "./change.ts";
import { createCommit, reporter } from "./commit.ts";
import { openPacman, toInstalled } from "./host.ts";
import { currentLists, refresh } from "./lists.ts";
import { createPacmanPackageFiles } from "./package-files.ts";
import { fullUpdate, planUpdate } from "./simulation.ts";
import { createFindings, createRepairs, createUpdates } from "./states.ts";

/** Its packages fit together only as a whole: an update is of all, and refreshed lists stay apart until then. */
function createPacman(ports: ManagerPorts): PackageManager {
  const pacman = openPacman(ports);
  const { database, places } = pacman;
  const findings = createFindings(pacman);
  const { audit, ...questions } = createQuestions({ ...pacman, findings }, ports);

  return {
    name: "pacman",
    capabilities: { knowsSecurity: false, isPlannedByRoot: false, isImageBased: false },
    // It installs only together with an update of everything, and resumes nothing.
    commands: {
      finisher: "pacman",
      finish: "",
      installMissing: "",
      refreshLists: "pacman -Sy",
      hold: "naming it under IgnorePkg in pacman.conf",
      unhold: "taking it out of IgnorePkg in pacman.conf",
    },
    files: createPacmanPackageFiles(pacman, ports),
    catalog: createPacmanCatalog(pacman),
    installed: async (signal) => toInstalled(await database(signal)),

    ...questions,
    lists: {
      updates: createUpdates(pacman),
      // Nothing in its lists says which updates fix vulnerabilities.
      security: () => Promise.resolve(undefined),
      release: () => Promise.resolve(undefined),
      refreshedAt: async () => (await currentLists(places))?.at,
      refresh: (progress, signal) => orLocked(() => refresh(pacman, reporter(progress, 0), signal)),
    },
    repairs: createRepairs(findings),
    plan: async (request, signal) =>
      isChange(request) ? (await planChange(pacman, request, signal)).plan : planUpdate(pacman, request, signal),
    holds: {
      lack: () => Promise.resolve("that is not supported"),
      set: () => Promise.reject(new UpdateRefused("pacman's holds are in its settings")),
    },
    oldKernels: noOldKernels,
    unremovable: createUnremovable(pacman),
    transactions: {
      commit: createCommit({
        ...pacman,
        fullUpdate: (...given) => fullUpdate(pacman, ...given),
        planChange: (...given) => planChange(pacman, ...given),
      }),
      settle: (id, signal) => settle(ports, unitFor(id), signal),

      /** Pacman has nothing to finish with: the next update brings what was not started, and a lock is for a person to remove. */
      async repair({ id }, signal) {
        unitFor(id);
        const { halfDone } = await findings(signal);
        return { isDone: halfDone.length === 0, reason: halfDone.join("; ") };
      },

      audit,
    },
    otherUpdaters: () => Promise.resolve([]),
  };
}

export const pacman: Backend = {
  program: "/usr/bin/pacman",
  probe: ["/usr/bin/pacman", "--query", "pacman"],
  databases: ["/var/lib/pacman/local"],
  open: createPacman,
};
