import type { OperationList, OperationStatus } from "#contract/operation-entry.ts";
import { isUnsuccessful, operationListLimit, operationStatuses } from "#contract/operation-entry.ts";
import { countedOf } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand, changeCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import { finishBy, followOperation, reportOperation } from "../core/operation-follow.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine, printJson } from "../output/output.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { formatAge, formatSpan } from "../output/text.ts";

const styles: Readonly<Record<OperationStatus, Style | undefined>> = {
  queued: undefined,
  running: "cyan",
  done: "green",
  failed: "red",
};

function describeOutcome({ status, progress, error, result }: OperationList["operations"][number]): string {
  if (status === "failed") return error?.message ?? "";
  if (status !== "done") return `${progress.percent} % ${progress.step}`;
  return isUnsuccessful(result) ? "done, with problems" : "";
}

export function printOperations(io: Io, { operations, total }: OperationList, now: number): void {
  printTable(io, operations, {
    id: ({ id }) => id,
    what: ({ kind }) => kind,
    status: ({ status }) => ({ text: status, style: styles[status] }),
    asked: (each) => formatAge(each.created_at, now),
    took: ({ started_at: start, finished_at: end }) =>
      start === null || end === null ? "" : formatSpan((Date.parse(end) - Date.parse(start)) / 1000),
    outcome: describeOutcome,
  });
  io.out(`${countedOf(operations.length, total, "operation")}\n`);
}

function addCancelCommand(operations: Command, ports: CommandPorts): void {
  const cancel = operations
    .command("cancel")
    .description("cancel an operation that has changed nothing yet: shows what would be done, and asks")
    .argument("<id>", "its id")
    .notes(
      "An operation that is changing the host is not interrupted, which would leave the change half-done.\n\nExit code: 0 cancelled, 1 you said no, 2 it cannot be cancelled, or the request failed.",
    );
  changeCommand(ports, cancel, {
    change: (client, query, id: string) => client.cancelOperation({ params: { id }, query }),
    question: (_, id: string) => `Cancel the operation ${oneLine(id)}?`,
    print: (io, { kind, id, error }) => io.out(`${oneLine(`${kind} ${id}: ${error?.message ?? "cancelled"}`)}\n`),
  });
}

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

export function addOperationsCommands(program: Command, ports: CommandPorts): void {
  const { io, now } = ports;
  const operations = program
    .command("operations")
    .description("long-running operations: updates, rollbacks, snapshots");
  const list = operations
    .presetCommand("list")
    .description("operations that run and have run, newest first")
    .choice("-s, --status <status>", "only those in this status", operationStatuses)
    .limit(operationListLimit);
  answerCommand(ports, list, {
    ask: (client, { status, limit }: { status?: OperationStatus; limit: number }) =>
      client.listOperations({ query: { limit, ...defined({ status }) } }),
    print: (_, answer) => printOperations(io, answer, now()),
  });
  const show = operations.command("show").description("one operation, with its log").argument("<id>", "its id");
  answerCommand(ports, show, {
    ask: (client, id: string) => client.getOperation({ params: { id } }),
    print(_, operation) {
      printOperations(io, { operations: [operation], total: 1 }, now());
      for (const line of operation.log) io.out(`  ${oneLine(line)}\n`);
    },
  });
  addWatchCommand(operations, ports);
  addCancelCommand(operations, ports);
}
