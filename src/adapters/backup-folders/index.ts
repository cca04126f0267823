import type { TakeLook } from "#adapters/exec/look.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { BackupFolders } from "#domain/ports/backups.ts";
import { newestOfFolders } from "./newest.ts";

/** A repository of deduplicated chunks has more: its last success is better told by its unit. */
const defaultMostEntries = 20_000;

/** Any directory may never answer, such as one of a server of NFS. */
export function createBackupFolders({
  look,
  mostEntries = defaultMostEntries,
}: {
  readonly look: TakeLook;
  readonly mostEntries?: number;
}): BackupFolders {
  return {
    async newest(wanted, latestAt, signal) {
      const byDirectory = Map.groupBy(wanted, ({ directory }) => directory);
      const directories = [...byDirectory].map(
        ([directory, all]) => [directory, all.map(({ pattern }) => pattern)] as const,
      );
      const { answers, silent } = await look(newestOfFolders, { directories, latestAt, mostEntries }, signal);
      return ({ directory, pattern }) => {
        const answer = answers.get(directory);
        if (answer === undefined) {
          const why = silent.has(directory) ? "gives no answer" : "was not read, since others give no answer";
          throw new HostUnavailable(`${directory} ${why}`, { missing: directory, retryable: true });
        }
        if (answer === null) return undefined;
        if ("fault" in answer) throw new Error(answer.fault);
        return { newest: new Map(answer.newest).get(pattern), isComplete: answer.isComplete };
      };
    },
  };
}
