import type { Command } from "commander";
import type { Answer } from "#client/index.ts";
import type { RollbackResult } from "#contract/updates.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { answerCommand } from "../core/answer-command.ts";
import { runLong } from "../core/operation-follow.ts";
import { asPlan, printPlan } from "../core/plan.ts";
import { type PlannedOptions, runPlanned } from "../core/planned.ts";
import type { CommandPorts } from "../core/ports.ts";
import { presetCommand } from "../core/preset-command.ts";
import { formatAge } from "../output/figures.ts";
import { type Io, oneLine, printJson } from "../output/output.ts";
import { withProgress } from "../output/progress.ts";
import { printTable } from "../output/table.ts";
import { printChanges } from "./updates.ts";

function printSnapshots(io: Io, { snapshots }: Answer<"listSnapshots">, now: number): void {
  printTable(
    io,
    ["id", "taken", "kind", "backend", "size", "packages", "description"],
    snapshots.map((each) => [
      each.id,
      formatAge(each.created_at, now),
      each.protected && each.kind !== "external" ? `${each.kind}, protected` : each.kind,
      each.backend,
      formatBytes(each.size_bytes),
      each.packages_count,
      each.description,
    ]),
  );
  io.out(`${counted(snapshots.length, "snapshot")}\n`);
}

function printDiff(io: Io, { packages, files }: Answer<"diffSnapshot">): void {
  printChanges(io, packages);
  for (const { path, change } of files) io.out(`  ${change.padEnd(8)} ${oneLine(path)}\n`);
  io.out(`since then: ${counted(packages.length, "package")} and ${counted(files.length, "file")} changed\n`);
}

function addReadCommands(snapshots: Command, ports: CommandPorts): void {
  const { io, now } = ports;
  answerCommand(ports, presetCommand(snapshots, "list").description("list snapshots, newest first"), {
    ask: (client) => client.listSnapshots(),
    print: (_, answer) => printSnapshots(io, answer, now()),
  });
  const diff = snapshots
    .command("diff")
    .description("what has changed since a snapshot")
    .argument("<id>", "its id, as `steward snapshots` has it");
  answerCommand(ports, diff, {
    ask: (client, id: string) =>
      withProgress(io, "comparing", () => client.diffSnapshot({ params: { snapshot_id: id } })),
    print: printDiff,
  });
}

function addSnapshotChanges(snapshots: Command, ports: CommandPorts): void {
  const { io, connect, person } = ports;
  snapshots
    .command("create")
    .description("take a snapshot")
    .argument("[description]", "what for")
    .option("--dry-run", "say what would be done, and do nothing")
    .option("--no-wait", "begin it, print the id of the operation, and do not wait")
    .option("--json", "print the answer as JSON")
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
  snapshots
    .command("delete")
    .description("delete a snapshot: shows what would be done, and asks")
    .argument("<id>", "its id")
    .option("--dry-run", "say what would be done, and do nothing")
    .option("-y, --yes", "do not ask")
    .option("--json", "print the answer as JSON")
    .action(async (id: string, options: PlannedOptions, command: Command) => {
      const connection = await connect(command, { signal: person.interrupted() });
      const params = { snapshot_id: id };
      const result = await runPlanned(ports, connection, {
        name: "deleteSnapshot",
        input: { params },
        options,
        askPlan: () => connection.client.deleteSnapshot({ params, query: { dry_run: true } }),
        question: () => `Delete the snapshot ${oneLine(id)}?`,
      });
      if (result !== undefined) io.out(`${oneLine(result.message)}\n`);
    });
}

/** `steward snapshots [list]|diff|create|delete`. */
export function addSnapshotsCommands(program: Command, ports: CommandPorts): void {
  const snapshots = program
    .command("snapshots")
    .description("snapshots of the host: list, compare, take and delete them");
  addReadCommands(snapshots, ports);
  addSnapshotChanges(snapshots, ports);
}

function printRollback(io: Io, result: RollbackResult): void {
  printChanges(io, result.packages);
  if (result.safety_snapshot_id !== "") io.out(`snapshot of how it was: ${oneLine(result.safety_snapshot_id)}\n`);
  if (result.requires_reboot) io.out("a reboot is needed\n");
  io.out(`${oneLine(result.message)}\n`);
}

/** `steward rollback`. */
export function addRollbackCommand(program: Command, ports: CommandPorts): void {
  const { io, connect, person } = ports;
  program
    .command("rollback")
    .description("return to a snapshot: shows what would be done, asks, does it, and shows how it comes along")
    .argument("<snapshot>", "id of the snapshot, as `steward snapshots` has it")
    .option("--dry-run", "say what would be done, and do nothing")
    .option("-y, --yes", "do not ask")
    .option("--no-wait", "begin it, print the id of the operation, and do not wait")
    .option("--json", "print the answer as JSON")
    .addHelpText(
      "after",
      `
Ctrl-C ends the watching and not the rollback: steward operations watch shows it again.

Exit code: 0 done, 1 it failed or you said no, 2 it could not be asked or begun, 130 after Ctrl-C.`,
    )
    .action(async (id: string, options: PlannedOptions, command: Command) => {
      const connection = await connect(command, { signal: person.interrupted() });
      const params = { snapshot_id: id };
      const result = await runPlanned(ports, connection, {
        name: "rollback",
        input: { params },
        options,
        askPlan: () => connection.client.rollback({ params, query: { dry_run: true } }),
        question: () => `Return to ${oneLine(id)}?`,
      });
      if (result !== undefined) printRollback(io, result);
    });
}
