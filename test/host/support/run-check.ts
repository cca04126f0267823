import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { createHostFiles } from "#adapters/host-files/index.ts";
import { createHostJournal } from "#adapters/journald/index.ts";
import { createJournalStorage } from "#adapters/journald/storage.ts";
import { createFileSystems } from "#adapters/procfs/file-systems.ts";
import { createRaidArrays } from "#adapters/procfs/raid-arrays.ts";
import type { Check } from "#domain/health/check.ts";
import { diskSpaceCheck } from "#domain/health/checks/disk-space.ts";
import { filesystemHealthCheck } from "#domain/health/checks/filesystem-health.ts";
import { inodeUsageCheck } from "#domain/health/checks/inode-usage.ts";
import { oomKillsCheck } from "#domain/health/checks/oom-kills.ts";
import { raidStatusCheck } from "#domain/health/checks/raid-status.ts";
import { readOnlyFilesystemsCheck } from "#domain/health/checks/read-only-filesystems.ts";
import type { RunOptions } from "./check.ts";

// Runs inside the guest: node run-check.ts ID OPTIONS. Prints the outcome as JSON.
const [id = "", options = "{}"] = process.argv.slice(2);
const { aheadMs = 0, ...settings } = JSON.parse(options) as RunOptions;
const journal = createHostJournal({
  dir: undefined,
  onUnreadable({ path, what }) {
    throw new Error(`${path} cannot be read: ${what}`);
  },
});
const fileSystems = createFileSystems({ clock: systemClock });
const checks: readonly Check[] = [
  diskSpaceCheck({ fileSystems }),
  inodeUsageCheck({ fileSystems }),
  readOnlyFilesystemsCheck({ fileSystems }),
  filesystemHealthCheck({ fileSystems, clock: systemClock, hostFiles: createHostFiles(), exec }),
  raidStatusCheck({ raidArrays: createRaidArrays() }),
  oomKillsCheck({
    journal: { ...journal.journal, ...createJournalStorage({ exec }) },
    clock: { now: () => Date.now() + aheadMs },
  }),
];
const check = checks.find((each) => each.id === id);
if (check === undefined) throw new Error(`cannot run ${id}: there is no such check`);
// The threads of the journal keep no process alive.
const alive = setInterval(() => undefined, 1000);
const outcome = await check.run({ ignore: [], ...settings }, AbortSignal.timeout(110_000));
process.stdout.write(JSON.stringify(outcome));
clearInterval(alive);
journal.dispose();
