import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { BackupSnapshot, BackupSnapshots } from "#domain/ports/backups.ts";
import { isNotFound, orUndefined } from "#kernel/errors.ts";
import { isNumber, isString, parseJsonObject, recordsIn } from "#kernel/values.ts";

/** `snapper --jsonout list`, snapper(8): number 0 is the present state and has no date. */
function parseSnapshots(text: string, config: string): readonly BackupSnapshot[] {
  return recordsIn(parseJsonObject(text)?.[config]).flatMap(({ number, date }) => {
    const createdAt = isString(date) ? Date.parse(`${date.replace(" ", "T")}Z`) : Number.NaN;
    return isNumber(number) && number > 0 && !Number.isNaN(createdAt) ? [{ number, createdAt }] : [];
  });
}

/** Asks snapper itself, and not its service, which would be started for it. */
export function createBackupSnapshots({ exec }: { readonly exec: Exec }): BackupSnapshots {
  return {
    async newest(config, latestAt, signal) {
      const argv = [
        "snapper",
        "--no-dbus",
        "--jsonout",
        "--utc",
        "-c",
        config,
        "list",
        "--columns",
        "number,date",
      ] as const;
      const ended = await orUndefined(
        exec(argv, { signal, timeoutMs: 20_000 }),
        (error) => error instanceof CommandFailed && isNotFound(error.cause),
      );
      if (ended === undefined) throw new Error("snapper is not installed");
      const { exitCode, stdout, stderr } = ended;
      if (exitCode !== 0) throw new Error(`snapper: ${(stderr || stdout).trim() || `exit code ${exitCode}`}`);
      return parseSnapshots(stdout, config)
        .filter(({ createdAt }) => createdAt <= latestAt)
        .reduce<BackupSnapshot | undefined>(
          (newest, each) => (newest === undefined || each.createdAt > newest.createdAt ? each : newest),
          undefined,
        );
    },
  };
}
