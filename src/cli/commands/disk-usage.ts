import type { Answer } from "#client/index.ts";
import { diskUsageDepth, diskUsageLimit, diskUsageOrders } from "#contract/disk-usage.ts";
import { counted, formatBytes, listNames } from "#kernel/text.ts";
import { answerCommand } from "../core/answer-command.ts";
import { type Command, integer } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printNotShown } from "../output/print.ts";
import { bar } from "../output/progress.ts";
import { printTable } from "../output/table.ts";

type Usage = Answer<"getDiskUsage">;

const barColumns = 20;

interface DuOptions {
  readonly depth: number;
  readonly limit: number;
  readonly sort: (typeof diskUsageOrders)[number];
}

function printUsage(io: Io, usage: Usage, sort: DuOptions["sort"]): void {
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
    ...(sort === "entries" && { entries: ({ entries }: Pick<Usage, "entries">) => String(entries) }),
    share: ({ bytes }) => `${Math.round(share(bytes))} %`,
    "": ({ bytes }) => bar(share(bytes), barColumns),
    path: ({ path, type }) => (type === "folder" && path !== "/" ? `${path}/` : path),
  });
  io.out(`${counted(usage.entries, "file and folder", "files and folders")}\n`);
  const warn = (text: string): void => io.err(`steward: ${oneLine(text)}\n`);
  if (usage.truncated !== null)
    warn(
      usage.truncated === "time"
        ? "there was no time to read all of it: ask for one of its folders"
        : "there is too much to read all of it: ask for one of its folders",
    );
  const { unreadable, other_file_systems: others } = usage;
  if (unreadable.total > 0)
    warn(`not read: ${counted(unreadable.total, "folder")} (${listNames(unreadable.paths.slice(0, 3))})`);
  printNotShown(io.err, usage.not_shown);
  if (others.total > 0) warn(`other file systems, not counted: ${listNames(others.paths)}`);
}

export function addDiskUsageCommand(program: Command, ports: CommandPorts): void {
  const { minimum, maximum } = diskUsageDepth;
  const du = program
    .command("du")
    .description("disk usage below a directory, the largest first, as far as the service may read it")
    .argument("<path>", "absolute path of a folder")
    .option("-d, --depth <levels>", "levels below it", integer(minimum, maximum), diskUsageDepth.default)
    .choice(
      "-s, --sort <what>",
      "by what they use: disk space, or entries, each of which takes an inode",
      diskUsageOrders,
      "bytes",
    )
    .limit({ ...diskUsageLimit, default: 30 });
  answerCommand(ports, du, {
    isSlow: true,
    ask: (client, path: string, { depth, limit, sort }: DuOptions) =>
      client.getDiskUsage({ query: { path, depth, limit, sort } }),
    print: (io, answer) => printUsage(io, answer, du.opts<DuOptions>().sort),
  });
}
