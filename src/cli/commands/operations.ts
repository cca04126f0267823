import {
  isUnsuccessful,
  type OperationEntry,
  type OperationStatus,
  operationListLimit,
} from "#contract/operation-entry.ts";
import type { Command } from "../core/command.ts";
import { changingCommand, commandGroup, listCommand, showCommand } from "../core/operation-command.ts";
import { finishBy, followOperation, reportOperation } from "../core/operation-follow.ts";
import { limitWord } from "../core/operation-words.ts";
import type { CommandPorts } from "../core/ports.ts";
import { oneLine, printJson } from "../output/output.ts";
import type { Style } from "../output/screen.ts";
import { type Columns, printTable } from "../output/table.ts";
import { formatAge, formatSpan } from "../output/text.ts";

const styles: Readonly<Record<OperationStatus, Style | undefined>> = {
  queued: undefined,
  running: "cyan",
  done: "green",
  failed: "red",
};

function describeOutcome({ status, progress, error, result }: OperationEntry): string {
  if (status === "failed") return error?.message ?? "";
  if (status !== "done") return `${progress.percent} % ${progress.step}`;
  return isUnsuccessful(result) ? "done, with problems" : "";
}

export const operationColumns = ({ now }: { readonly now: number }): Columns<OperationEntry> => ({
  id: "id",
  what: "kind",
  status: ({ status }) => ({ text: status, style: styles[status] }),
  asked: (each) => formatAge(each.created_at, now),
  took: ({ started_at: start, finished_at: end }) =>
    start === null || end === null ? "" : formatSpan((Date.parse(end) - Date.parse(start)) / 1000),
  outcome: describeOutcome,
});

const listOperations = listCommand("listOperations", "list", {
  about: "operations that run and have run, newest first",
  words: {
    status: { as: "-s, --status <status>", about: "only those in this status" },
    limit: limitWord(operationListLimit.default),
  },
  rows: "operations",
  columns: (_, asked) => operationColumns(asked),
  counts: "operation",
});

const cancelOperation = changingCommand("cancelOperation", "cancel", {
  about: "cancel an operation that has changed nothing yet: shows what would be done, and asks",
  notes:
    "An operation that is changing the host is not interrupted, which would leave the change half-done.\n\nExit code: 0 cancelled, 1 you said no, 2 it cannot be cancelled, or the request failed.",
  words: { id: { as: "<id>", about: "its id" } },
  question: (_, { id = "" }) => `Cancel the operation ${oneLine(id)}?`,
  print: (io, { kind, id, error }) => io.out(`${oneLine(`${kind} ${id}: ${error?.message ?? "cancelled"}`)}\n`),
});

function addWatchCommand(operations: Command, ports: CommandPorts): void {
  const { io, connect, person } = ports;
  operations
    .command("watch")
    .description("follow an operation until it ends")
    .argument("[id]", "its id; the one that runs when left out")
    .json("print the operation as JSON when it has ended")
    .notes(
      "Ctrl-C stops following the operation, not the operation.\n\nExit code: 0 done, 1 it failed or there were problems, 2 the request failed, 130 after Ctrl-C.",
    )
    .action(async (given: string | undefined, options: { json?: boolean }, command: Command) => {
      const connection = await connect(command, { signal: person.interrupted() });
      const running =
        given ??
        (await connection.client.listOperations()).operations.find(
          ({ status }) => status === "running" || status === "queued",
        )?.id;
      if (running === undefined) return io.out("no operation runs\n");
      const operation = await followOperation(ports, connection, running);
      if (options.json) printJson(io, operation);
      const result = reportOperation(ports, operation);
      finishBy(ports, result);
      if (!options.json && operation.status === "done") {
        io.out(`${operation.kind} ${operation.id}: ${describeOutcome(operation) || "done"}\n`);
      }
    });
}

export const addOperationsCommands = commandGroup(
  { name: "operations", about: "long-running operations: updates, rollbacks, snapshots", preset: "list" },
  [
    listOperations,
    showCommand("getOperation", "show", {
      about: "one operation, with its log",
      words: { id: { as: "<id>", about: "its id" } },
      print(io, operation, asked) {
        printTable(io, [operation], operationColumns(asked));
        io.out("1 operation\n");
        for (const line of operation.log) io.out(`  ${oneLine(line)}\n`);
      },
    }),
    addWatchCommand,
    cancelOperation,
  ],
);
