import type { Sleep } from "#client/http.ts";
import { type Answer, ApiError } from "#client/index.ts";
import { type ApprovalStatus, approvalListLimit } from "#contract/approvals.ts";
import { countedOf } from "#kernel/text.ts";
import { defined, isRecord, isString } from "#kernel/values.ts";
import type { Command } from "../core/command.ts";
import { inOwnWords } from "../core/errors.ts";
import { type AddCommand, changingCommand, commandGroup, listCommand, showCommand } from "../core/operation-command.ts";
import { limitWord } from "../core/operation-words.ts";
import { ioOfPlan, isWanted, printPlan } from "../core/plan.ts";
import type { CommandPorts, Connection } from "../core/ports.ts";
import { exitCode, type Io, oneLine, printJson } from "../output/output.ts";
import type { Style } from "../output/screen.ts";
import { type Columns, printTable } from "../output/table.ts";
import { formatAge, formatTime } from "../output/text.ts";

type Window = Answer<"listWindows">["windows"][number];

const windowState = ({ open, closes_at: closes }: Window): string => {
  if (!open) return "closed";
  return closes === null ? "open" : `open until ${formatTime(closes)}`;
};

function windowEffect({ allow, deny, silence }: Window): string {
  const parts = [
    ...(allow.length === 0 ? [] : [`allows ${allow.join(" ")}`]),
    ...(deny.length === 0 ? [] : [`forbids ${deny.join(" ")}`]),
    ...(silence ? ["silent"] : []),
  ];
  return parts.join("; ");
}

export const addWindowsCommand = listCommand("listWindows", "windows", {
  about: "windows in which changes are allowed or forbidden",
  notes:
    "They are in the settings of the service. Inside one, what it allows may be done, and what it forbids may not.",
  rows: "windows",
  columns: {
    window: "name",
    state: (window) => ({ text: windowState(window), style: window.open ? "green" : "dim" }),
    "opens next": ({ opens_next_at: next }) => (next === null ? "not in sight" : formatTime(next)),
    effect: windowEffect,
  },
  empty: "no windows: changes are allowed at any time",
});

type Approval = Answer<"getApproval">;

const open: readonly ApprovalStatus[] = ["pending", "approved", "running"];
const styles: Partial<Record<ApprovalStatus, Style>> = {
  pending: "yellow",
  running: "cyan",
  done: "green",
  failed: "red",
};
const pollWait = "30s";

const outcomeOf = ({ status, error, decision, expires_at: end, operation_id: id }: Approval): string => {
  if (status === "pending") return `until ${formatTime(end)}`;
  if (status === "running") return id === null ? "" : `operation ${id}`;
  return error?.message ?? decision ?? "";
};

const approvalColumns = ({ now }: { readonly now: number }): Columns<Approval> => ({
  id: "id",
  what: "operation",
  status: ({ status }) => ({ text: status, style: styles[status] }),
  "proposed by": ({ proposer }) => proposer.name,
  asked: (each) => formatAge(each.created_at, now),
  outcome: outcomeOf,
});

function printApproval(io: Io, approval: Approval): void {
  const { operation, proposer, reason, approvals, approvers, changed } = approval;
  const say = (text: string): void => io.out(`${oneLine(text)}\n`);
  say(
    `${approval.id}: ${operation}, ${approval.status}${outcomeOf(approval) === "" ? "" : `: ${outcomeOf(approval)}`}`,
  );
  say(`proposed by ${proposer.name} (key ${proposer.key_id})${reason === null ? "" : `: ${reason}`}`);
  if (Object.keys(approval.arguments).length > 0) say(`with ${JSON.stringify(approval.arguments)}`);
  say(`approved by ${approvals.length} of ${approvers}: ${approvals.map(({ name }) => name).join(", ") || "nobody"}`);
  printPlan(io, approval.plan);
  for (const step of changed?.added ?? []) say(`  new: ${step}`);
  for (const step of changed?.missing ?? []) say(`  gone: ${step}`);
}

/** Between two questions at least, also to a service that answers at once. */
const leastPauseMs = 1000;

/** Asks, and answers after a while at the earliest. */
async function paced<T>(ask: () => Promise<T>, sleep: Sleep, signal: AbortSignal): Promise<T> {
  const [answer] = await Promise.all([ask(), sleep(leastPauseMs, signal)]);
  return answer;
}

/** The approval when it has ended. */
async function untilEnded(
  { client, sleep }: Pick<Connection, "client" | "sleep">,
  given: Approval,
  signal: AbortSignal,
): Promise<Approval> {
  let approval = given;
  while (open.includes(approval.status)) {
    const query = { wait: pollWait, since: approval.revision };
    const { id } = approval;
    approval = await paced(() => client.getApproval({ params: { id }, query }), sleep, signal);
  }
  return approval;
}

/** Waits for the end of a call that waits for approval. @returns the exit code. */
export async function awaitApproval(
  io: Io,
  connection: Pick<Connection, "client" | "sleep">,
  given: Approval,
  signal: AbortSignal,
): Promise<number> {
  const { id, status, error, decision, result } = await untilEnded(connection, given, signal);
  const why = error?.message ?? decision ?? "";
  io.err(`steward: ${oneLine(`approval ${id}: ${status}${why === "" ? "" : `: ${why}`}`)}\n`);
  if (status === "done") printJson(io, result);
  return status === "done" ? exitCode.fine : exitCode.foundTrouble;
}

/** The approval with the plan of now, where it is refused since that has changed. */
function changedOf(error: unknown): Approval | undefined {
  if (!(error instanceof ApiError) || error.details?.["reason"] !== "plan_changed") return undefined;
  const { approval } = error.details;
  return isRecord(approval) && isString(approval["id"]) ? (approval as Approval) : undefined;
}

interface ApproveOptions {
  readonly reason?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Shows a call and its plan, asks, and approves what was shown and nothing else. @returns undefined where that is not wanted. */
async function approveShown(
  ports: CommandPorts,
  { client }: Pick<Connection, "client">,
  id: string,
  options: ApproveOptions,
): Promise<Approval | undefined> {
  let shown = await client.getApproval({ params: { id } });
  for (;;) {
    printApproval(ioOfPlan(ports, options), shown);
    if (!(await isWanted(ports, `Approve ${shown.operation} of ${shown.proposer.name}?`, options))) return undefined;
    const { plan_digest: digest } = shown;
    try {
      const body = { plan_digest: digest, ...defined({ reason: options.reason }) };
      return await client.approve({ params: { id }, body });
    } catch (error) {
      const changed = changedOf(error);
      // With --yes nobody would look at it.
      if (changed === undefined || options.yes) throw error;
      ports.io.err("steward: something has changed since the plan was made; now it would:\n");
      shown = changed;
    }
  }
}

function addApproveCommand(program: Command, ports: CommandPorts): void {
  const { io, connect, finish, person } = ports;
  program
    .command("approve")
    .description("approve a call that waits: shows it with its plan, and asks")
    .argument("<id>", "its id")
    .option("--reason <text>", "comment, kept in the audit log")
    .yes()
    .json("print the approval as JSON when it has ended")
    .notes(
      "What is approved is the plan that was shown; where it has changed meanwhile, the new one is shown. An approved call is carried out at once.\n\nExit code: 0 done, or others have to approve it too; 1 you said no, or it failed; 2 it cannot be approved.",
    )
    .action(async (id: string, options: ApproveOptions, command: Command) => {
      const signal = person.interrupted();
      const connection = await connect(command, { signal });
      const approved = await approveShown(ports, connection, id, options);
      if (approved === undefined) return finish(exitCode.foundTrouble);
      const { result } = approved;
      const end = approved.status === "pending" ? approved : await untilEnded(connection, approved, signal);
      // A secret is only in the first answer.
      const approval = { ...end, result: result ?? end.result };
      if (options.json) printJson(io, approval);
      else {
        io.out(
          `${oneLine(`${approval.id}: ${approval.status}${approval.error ? `: ${inOwnWords(approval.error.message)}` : ""}`)}\n`,
        );
        if (approval.result !== null) printJson(io, approval.result);
      }
      finish(approval.status === "failed" ? exitCode.foundTrouble : exitCode.fine);
    });
}

const decisionCommand = (operation: "deny" | "cancelApproval", name: string, about: string): AddCommand =>
  changingCommand(operation, name, {
    about,
    words: {
      id: { as: "<id>", about: "its id" },
      reason: { as: "--reason <text>", about: "comment, kept in the audit log" },
    },
    print: (io, { id, operation: call, status }) => io.out(`${oneLine(`${id}: ${call} is ${status}`)}\n`),
  });

function addWatchCommand(approvals: Command, ports: CommandPorts): void {
  const { io, connect, person, now } = ports;
  approvals
    .command("watch")
    .description("show the calls that wait, again with each change, until Ctrl-C")
    .json("print each list as JSON")
    .action(async (options: { json?: boolean }, command: Command) => {
      const signal = person.interrupted();
      const { client, sleep } = await connect(command, { signal });
      let last: number | undefined;
      for (;;) {
        const query = last === undefined ? {} : { wait: pollWait, since: last };
        const ask = () => client.listApprovals({ query: { status: "pending", ...query } });
        const answer = await (last === undefined ? ask() : paced(ask, sleep, signal));
        if (answer.revision !== last) {
          if (options.json) printJson(io, answer);
          else {
            printTable(io, answer.approvals, approvalColumns({ now: now() }));
            io.out(`${countedOf(answer.approvals.length, answer.total, "approval")}\n`);
          }
        }
        last = answer.revision;
      }
    });
}

const approvalsGroup = commandGroup(
  { name: "approvals", about: "calls that wait for the approval of another key", preset: "list" },
  [
    listCommand("listApprovals", "list", {
      about: "calls that wait and have waited, newest first: those of the own key, and those that it may approve",
      words: {
        status: { as: "-s, --status <status>", about: "only those in this status" },
        limit: limitWord(approvalListLimit.default),
      },
      rows: "approvals",
      columns: (_, asked) => approvalColumns(asked),
      counts: "approval",
    }),
    showCommand("getApproval", "show", {
      about: "one call, with its plan",
      words: { id: { as: "<id>", about: "its id" } },
      print: printApproval,
    }),
    addWatchCommand,
    decisionCommand("cancelApproval", "cancel", "withdraw a call that the own key has proposed"),
  ],
);

export const addApprovalsCommands: AddCommand = (program, ports) => {
  approvalsGroup(program, ports);
  addApproveCommand(program, ports);
  decisionCommand("deny", "deny", "deny a call that waits for approval")(program, ports);
};
