import type { Answer } from "#client/index.ts";
import { diskUsageDepth } from "#contract/disk-usage.ts";
import { counted, formatBytes, listNames } from "#kernel/text.ts";
import { showCommand } from "../core/operation-command.ts";
import { type Asked, limitWord } from "../core/operation-words.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printNotShown } from "../output/print.ts";
import { bar } from "../output/progress.ts";
import { printTable } from "../output/table.ts";

type Usage = Answer<"getDiskUsage">;

const barColumns = 20;

function printUsage(io: Io, usage: Usage, { given }: Asked<"getDiskUsage">): void {
  const share = (bytes: number): number => (usage.bytes === 0 ? 0 : (100 * bytes) / usage.bytes);
  const whole = {
    path: usage.path,
    type: "folder",
    bytes: usage.bytes,
    entries: usage.entries,
    is_complete: usage.truncated === null,
  } as const;
  printTable(io, [whole, ...usage.largest], {
    size: ({ bytes, is_complete: isComplete }) => `${isComplete ? "" : "≥ "}${formatBytes(bytes)}`,
    ...(given.sort === "entries" && { entries: "entries" as const }),
    share: ({ bytes }) => `${Math.round(share(bytes))} %`,
    "": ({ bytes }) => bar(share(bytes), barColumns),
    path: ({ path, type }) => (type === "folder" && path !== "/" ? `${path}/` : path),
  });
  io.out(`${counted(usage.entries, "file and directory", "files and directories")}\n`);
  const warn = (text: string): void => io.err(`steward: ${oneLine(text)}\n`);
  if (usage.truncated !== null)
    warn(
      usage.truncated === "time"
        ? "there was no time to read all of it: ask for one of its directories"
        : "there is too much to read all of it: ask for one of its directories",
    );
  const { unreadable, other_file_systems: others } = usage;
  if (unreadable.total > 0)
    warn(
      `not read: ${counted(unreadable.total, "directory", "directories")} (${listNames(unreadable.paths.slice(0, 3))})`,
    );
  printNotShown(io.err, usage.not_shown);
  if (others.total > 0) warn(`other file systems, not counted: ${listNames(others.paths)}`);
}

export const addDiskUsageCommand = showCommand("getDiskUsage", "du", {
  about: "disk usage below a directory, the largest first, as far as the service may read it",
  words: {
    path: { as: "<path>", about: "absolute path of a directory" },
    depth: { as: "-d, --depth <levels>", about: "levels below it", default: diskUsageDepth.default },
    sort: {
      as: "-s, --sort <what>",
      about: "by what they use: disk space, or entries, each of which takes an inode",
      default: "bytes",
    },
    limit: limitWord(30),
  },
  isSlow: true,
  print: printUsage,
});
