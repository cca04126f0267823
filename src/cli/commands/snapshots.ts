import type { Answer } from "#client/index.ts";
import type { RollbackReport } from "#contract/updates.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { answerCommand } from "../core/answer-command.ts";
import { type Command, namedArgument } from "../core/command.ts";
import { commandGroup, listCommand, longCommand, showCommand } from "../core/operation-command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printMessage } from "../output/print.ts";
import { withProgress } from "../output/progress.ts";
import { formatAge } from "../output/text.ts";
import { printChanges } from "./updates.ts";

const listedId = { as: "<id>", about: "its id, as `steward snapshots` has it", names: "snapshot" } as const;

const listSnapshots = listCommand("listSnapshots", "list", {
  about: "list snapshots, newest first",
  rows: "snapshots",
  columns: (_, { now }) => ({
    id: "id",
    taken: (each) => formatAge(each.created_at, now),
    kind: (each) => (each.protected ? `${each.kind}, protected` : each.kind),
    backend: "backend",
    size: (each) => formatBytes(each.size_bytes),
    packages: "packages_count",
    rollback: (each) => (each.rollback === "partial" ? `not ${(each.rollback_lacks ?? []).join(", ")}` : "full"),
    description: "description",
  }),
  counts: "snapshot",
});

function printDiff(io: Io, { packages, files }: Answer<"diffSnapshot">): void {
  printChanges(io, packages);
  for (const { path, change } of files) io.out(`  ${change.padEnd(8)} ${oneLine(path)}\n`);
  io.out(`since then: ${counted(packages.length, "package")} and ${counted(files.length, "file")} changed\n`);
}

function printFileChange(io: Io, { path, text, reason, before, after }: Answer<"diffSnapshotFile">): void {
  const state = (side: typeof before) =>
    side === null ? "not there" : `${side.type} ${side.mode ?? ""} ${side.uid}:${side.gid}`;
  if (state(before) !== state(after)) io.out(`${oneLine(path)}: ${state(before)}, now ${state(after)}\n`);
  if (text === null) io.out(`${oneLine(path)}: not shown, ${reason ?? ""}\n`);
  else if (text === "") io.out("its content is the same\n");
  else for (const line of text.trimEnd().split("\n")) io.out(`${oneLine(line)}\n`);
}

function addDiffCommand(snapshots: Command, ports: CommandPorts): void {
  const diff = snapshots
    .command("diff")
    .description("what has changed since a snapshot")
    .addArgument(namedArgument(listedId.as, listedId.about, listedId.names))
    .argument("[file]", "a file of /etc of which to show what has changed");
  answerCommand(ports, diff, {
    ask: (client, id: string, path?: string): Promise<Answer<"diffSnapshot"> | Answer<"diffSnapshotFile">> => {
      const params = { snapshot_id: id };
      if (path !== undefined) return client.diffSnapshotFile({ params, query: { path } });
      return withProgress(ports.io, "comparing", () => client.diffSnapshot({ params }));
    },
    print: (io, answer) => ("files" in answer ? printDiff(io, answer) : printFileChange(io, answer)),
  });
}

export const addSnapshotsCommands = commandGroup(
  { name: "snapshots", about: "snapshots of the host: list, compare, take and delete them", preset: "list" },
  [
    listSnapshots,
    showCommand("getSnapshot", "show", { about: "one snapshot", words: { snapshot_id: listedId } }),
    addDiffCommand,
    longCommand("createSnapshot", "create", {
      about: "take a snapshot",
      words: { description: { as: "[description]", about: "what for" } },
      print: (io, { id }) => io.out(`${oneLine(id)}\n`),
    }),
    longCommand("deleteSnapshot", "delete", {
      about: "delete a snapshot: shows what would be done, and asks",
      words: { snapshot_id: { ...listedId, about: "its id" } },
      isAwaited: true,
      question: (_, { snapshot_id: id = "" }) => `Delete the snapshot ${oneLine(id)}?`,
      print: printMessage,
    }),
  ],
);

function printRollback(io: Io, result: RollbackReport): void {
  printChanges(io, result.packages);
  if (result.safety_snapshot_id !== "") io.out(`safety snapshot: ${oneLine(result.safety_snapshot_id)}\n`);
  if (result.requires_reboot) io.out("a reboot is needed\n");
  io.out(`${oneLine(result.message)}\n`);
}

export const addRollbackCommand = longCommand("rollback", "rollback", {
  about: "return to a snapshot: shows what would be done, asks, does it, and shows its progress",
  notes: `Ctrl-C stops following the rollback, not the rollback itself: steward operations watch shows it again.

Exit code: 0 done, 1 it failed or you said no, 2 the request failed, 130 after Ctrl-C.`,
  words: {
    snapshot_id: { as: "<snapshot>", about: "id of the snapshot, as `steward snapshots` has it", names: "snapshot" },
    etc: { as: "--etc <files>", about: "of /etc what the update and its packages changed, or all that differs" },
    allow_downgrade: {
      as: "--allow-downgrade <name>",
      about: "this package too, although its data may not survive it; may be repeated",
    },
    partial: { as: "--partial", about: "leave packages as they are whose old package file is not available" },
  },
  question: (_, { snapshot_id: id = "" }) => `Return to ${oneLine(id)}?`,
  print: printRollback,
});
