import type { Exec } from "#adapters/exec/index.ts";
import type { LoggedPackage, LoggedTransaction, PackageAction } from "#domain/ports/package-catalog.ts";
import { parseLocalTime, readRotated } from "../common/rotated-logs.ts";
import { fieldOf, parseStanzas } from "./deb822.ts";

export const historyLog = "/var/log/apt/history.log";

const actions: readonly (readonly [field: string, action: PackageAction])[] = [
  ["Install", "install"],
  ["Reinstall", "reinstall"],
  ["Upgrade", "upgrade"],
  ["Downgrade", "downgrade"],
  ["Remove", "remove"],
  ["Purge", "purge"],
];

/** Reads `libc6:amd64 (2.36-9, 2.36-10), tmux:amd64 (3.3a-3, automatic)`. */
function packagesOf(text: string, action: PackageAction): readonly LoggedPackage[] {
  return [...text.matchAll(/([^\s,:()]+)(?::([^\s,()]+))? \(([^()]*)\)/g)].map(
    ([, name = "", architecture = "", reported = ""]) => {
      const words = reported.split(",").map((each) => each.trim());
      const versions = words.filter((word) => word !== "automatic" && word !== "");
      const [first, second] = versions;
      const isGone = action === "remove" || action === "purge";
      return {
        name,
        architecture,
        action,
        from: second === undefined && !isGone ? undefined : first,
        to: isGone ? undefined : (second ?? first),
        isAutomatic: words.includes("automatic"),
      };
    },
  );
}

function transactionOf(stanza: string): LoggedTransaction | undefined {
  const startedAt = parseLocalTime(fieldOf(stanza, "Start-Date"));
  if (startedAt === undefined) return undefined;
  const orUnknown = (field: string): string | undefined => fieldOf(stanza, field) || undefined;
  return {
    startedAt,
    endedAt: parseLocalTime(fieldOf(stanza, "End-Date")),
    commandLine: fieldOf(stanza, "Commandline"),
    requestedBy: orUnknown("Requested-By"),
    error: orUnknown("Error"),
    packages: actions.flatMap(([field, action]) => packagesOf(fieldOf(stanza, field), action)),
  };
}

/** Reads apt's history.log, oldest first as it is; what is damaged is left out. */
export const parseHistory = (text: string): readonly LoggedTransaction[] =>
  parseStanzas(text).flatMap((stanza) => transactionOf(stanza) ?? []);

/** What apt has logged, newest first: a file is read when all before it has been taken. */
export async function* readHistory(log: string, exec: Exec, signal: AbortSignal): AsyncGenerator<LoggedTransaction> {
  for await (const text of readRotated(log, exec, signal)) yield* parseHistory(text).toReversed();
}
