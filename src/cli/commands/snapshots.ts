import type { Answer } from "#client/index.ts";
import { type EtcScope, etcScopes, type RollbackReport } from "#contract/updates.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand, type PlannedOptions, plannedCommand } from "../core/answer-command.ts";
import { type Command, namedArgument, repeated } from "../core/command.ts";
import { runLong } from "../core/operation-follow.ts";
import { asPlan, printPlan } from "../core/plan.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine, printJson } from "../output/output.ts";
import { printFields, printNotShown } from "../output/print.ts";
import { withProgress } from "../output/progress.ts";
import { printTable } from "../output/table.ts";
import { formatAge } from "../output/text.ts";
import { printChanges } from "./updates.ts";

function printSnapshots(io: Io, { snapshots, not_shown: missing }: Answer<"listSnapshots">, now: number): void {
  printTable(io, snapshots, {
    id: ({ id }) => id,
    taken: (each) => formatAge(each.created_at, now),
    kind: (each) => (each.protected ? `${each.kind}, protected` : each.kind),
    backend: ({ backend }) => backend,
    size: (each) => formatBytes(each.size_bytes),
    packages: (each) => each.packages_count,
    rollback: (each) => (each.rollback === "partial" ? `not ${(each.rollback_lacks ?? []).join(", ")}` : "full"),
    description: ({ description }) => description,
  });
  io.out(`${counted(snapshots.length, "snapshot")}\n`);
  printNotShown(io.out, missing);
}

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

function addReadCommands(snapshots: Command, ports: CommandPorts): void {
  const { io, now } = ports;
  answerCommand(ports, snapshots.presetCommand("list").description("list snapshots, newest first"), {
    ask: (client) => client.listSnapshots(),
    print: (_, answer) => printSnapshots(io, answer, now()),
  });
  const show = snapshots
    .command("show")
    .description("one snapshot")
    .addArgument(namedArgument("<id>", "its id, as `steward snapshots` has it", "snapshot"));
  answerCommand(ports, show, {
    ask: (client, id: string) => client.getSnapshot({ params: { snapshot_id: id } }),
    print: printFields,
  });
  const diff = snapshots
    .command("diff")
    .description("what has changed since a snapshot")
    .addArgument(namedArgument("<id>", "its id, as `steward snapshots` has it", "snapshot"))
    .argument("[file]", "a file of /etc of which to show what has changed");
  answerCommand(ports, diff, {
    ask: (client, id: string, path?: string): Promise<Answer<"diffSnapshot"> | Answer<"diffSnapshotFile">> => {
      const params = { snapshot_id: id };
      if (path !== undefined) return client.diffSnapshotFile({ params, query: { path } });
      return withProgress(io, "comparing", () => client.diffSnapshot({ params }));
    },
    print: (_, answer) => ("files" in answer ? printDiff(io, answer) : printFileChange(io, answer)),
  });
}

function addSnapshotChanges(snapshots: Command, ports: CommandPorts): void {
  const { io, connect, person } = ports;
  snapshots
    .command("create")
    .description("take a snapshot")
    .argument("[description]", "what for")
    .dryRun()
    .noWait()
    .json()
    .action(async (description: string | undefined, options: PlannedOptions, command: Command) => {
      const connection = await connect(command, { signal: person.interrupted() });
      const input = { body: { description: description ?? "" } };
      if (options.dryRun) {
        const plan = asPlan(await connection.client.createSnapshot({ ...input, query: { dry_run: true } }));
        return options.json ? printJson(io, plan) : printPlan(io, plan);
      }
      const result = await runLong(ports, connection, { name: "createSnapshot", input, options });
      if (result !== undefined) io.out(`${oneLine(result.id)}\n`);
    });
  const remove = snapshots
    .command("delete")
    .description("delete a snapshot: shows what would be done, and asks")
    .addArgument(namedArgument("<id>", "its id", "snapshot"))
    .dryRun()
    .yes()
    .json();
  plannedCommand(ports, remove, {
    name: "deleteSnapshot",
    input: (id: string) => ({ params: { snapshot_id: id } }),
    question: (_, id) => `Delete the snapshot ${oneLine(id)}?`,
    print: (_, { message }) => io.out(`${oneLine(message)}\n`),
  });
}

export function addSnapshotsCommands(program: Command, ports: CommandPorts): void {
  const snapshots = program
    .command("snapshots")
    .description("snapshots of the host: list, compare, take and delete them");
  addReadCommands(snapshots, ports);
  addSnapshotChanges(snapshots, ports);
}

function printRollback(io: Io, result: RollbackReport): void {
  printChanges(io, result.packages);
  if (result.safety_snapshot_id !== "") io.out(`safety snapshot: ${oneLine(result.safety_snapshot_id)}\n`);
  if (result.requires_reboot) io.out("a reboot is needed\n");
  io.out(`${oneLine(result.message)}\n`);
}

interface RollbackOptions {
  readonly etc?: EtcScope;
  readonly allowDowngrade?: readonly string[];
  readonly partial?: boolean;
}

export function addRollbackCommand(program: Command, ports: CommandPorts): void {
  const rollback = program
    .command("rollback")
    .description("return to a snapshot: shows what would be done, asks, does it, and shows its progress")
    .addArgument(namedArgument("<snapshot>", "id of the snapshot, as `steward snapshots` has it", "snapshot"))
    .choice("--etc <files>", "of /etc what the update and its packages changed, or all that differs", etcScopes)
    .option(
      "--allow-downgrade <name>",
      "this package too, although its data may not survive it; may be repeated",
      repeated,
    )
    .option("--partial", "leave packages as they are whose old package file is not available")
    .dryRun()
    .yes()
    .noWait()
    .json()
    .notes(`Ctrl-C stops following the rollback, not the rollback itself: steward operations watch shows it again.

Exit code: 0 done, 1 it failed or you said no, 2 the request failed, 130 after Ctrl-C.`);
  plannedCommand(ports, rollback, {
    name: "rollback",
    input: (id: string, { etc, allowDowngrade, partial }: RollbackOptions) => ({
      params: { snapshot_id: id },
      body: defined({ etc, partial, allow_downgrade: allowDowngrade && [...allowDowngrade] }),
    }),
    question: (_, id) => `Return to ${oneLine(id)}?`,
    print: printRollback,
  });
}
