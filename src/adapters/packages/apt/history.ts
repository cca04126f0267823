import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import type { LoggedTransaction, PackageAction } from "#domain/ports/package-catalog.ts";
import { orUndefined } from "#kernel/errors.ts";
import { fieldOf, parseStanzas } from "./deb822.ts";

export const historyFolder = "/var/log/apt";

/** A month of a busy host has some hundred kilobytes; what lies before the last so many bytes is left out. */
const maxBytes = 32 * 1024 * 1024;

const actions: readonly (readonly [field: string, action: PackageAction])[] = [
  ["Install", "install"],
  ["Reinstall", "reinstall"],
  ["Upgrade", "upgrade"],
  ["Downgrade", "downgrade"],
  ["Remove", "remove"],
  ["Purge", "purge"],
];

/** Apt writes the host's own time, without a zone: `2026-01-31  12:00:00`. */
function timeOf(text: string): number | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2}) +(\d{2}):(\d{2}):(\d{2})$/.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return undefined;
  return new Date(year, month - 1, day, hour, minute, second).getTime();
}

type LoggedPackage = LoggedTransaction["packages"][number];

/** Reads `libc6:amd64 (2.36-9, 2.36-10), tmux:amd64 (3.3a-3, automatic)`. */
function packagesOf(text: string, action: PackageAction): readonly LoggedPackage[] {
  return [...text.matchAll(/([^\s,:()]+)(?::([^\s,()]+))? \(([^()]*)\)/g)].map(
    ([, name = "", architecture = "", told = ""]) => {
      const words = told.split(",").map((each) => each.trim());
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
  const startedAt = timeOf(fieldOf(stanza, "Start-Date"));
  if (startedAt === undefined) return undefined;
  const orUnknown = (field: string): string | undefined => fieldOf(stanza, field) || undefined;
  return {
    startedAt,
    endedAt: timeOf(fieldOf(stanza, "End-Date")),
    commandLine: fieldOf(stanza, "Commandline"),
    requestedBy: orUnknown("Requested-By"),
    error: orUnknown("Error"),
    packages: actions.flatMap(([field, action]) => packagesOf(fieldOf(stanza, field), action)),
  };
}

/** Reads apt's history.log, oldest first as it is; what is damaged is left out. */
export const parseHistory = (text: string): readonly LoggedTransaction[] =>
  parseStanzas(text).flatMap((stanza) => transactionOf(stanza) ?? []);

/** Which of these files come first: `history.log`, `history.log.1`, `history.log.2.gz`. */
export const historyFiles = (names: readonly string[]): readonly string[] =>
  names
    .flatMap((name) => {
      const [, number = "0"] = /^history\.log(?:\.(\d{1,6})(?:\.gz)?)?$/.exec(name) ?? ["", "-"];
      return number === "-" ? [] : [{ name, number: Number(number) }];
    })
    .sort((a, b) => a.number - b.number || (a.name < b.name ? -1 : 1))
    .map(({ name }) => name);

/** The end of a file: as much as is read at most. */
async function readEnd(path: string): Promise<string> {
  const file = createReadStream(path);
  const source = path.endsWith(".gz") ? file.pipe(createGunzip()) : file;
  file.once("error", (error) => source.destroy(error));
  let chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > 2 * maxBytes) {
      chunks = [Buffer.concat(chunks).subarray(-maxBytes)];
      length = maxBytes;
    }
  }
  return Buffer.concat(chunks).subarray(-maxBytes).toString("utf8");
}

/** What apt has logged, newest first: a file is read when all before it has been taken. */
export async function* readHistory(folder: string, signal: AbortSignal): AsyncGenerator<LoggedTransaction> {
  const names = (await orUndefined(readdir(folder))) ?? [];
  for (const name of historyFiles(names)) {
    signal.throwIfAborted();
    // It may be rotated away meanwhile.
    const text = await orUndefined(readEnd(join(folder, name)));
    yield* parseHistory(text ?? "").toReversed();
  }
}
