import { ApiError } from "#client/index.ts";
import { streamChecks } from "#client/stream.ts";
import { meaningOfCheck } from "#contract/check-meanings.ts";
import {
  type CheckStatus,
  type FixResult,
  type HealthCheckList,
  type HealthCheckResult,
  isUnhealthy,
} from "#contract/checks.ts";
import type { Plan } from "#contract/operation.ts";
import { untilAborted } from "#kernel/async.ts";
import { counted } from "#kernel/text.ts";
import { type Command, NamedOption } from "../core/command.ts";
import { commandFor, withPlan } from "../core/connect.ts";
import { explainError, Interrupted, inOwnWords, isRefused, NoKey } from "../core/errors.ts";
import { asPlan, carryOutPlan, ioOfPlan, isWanted, printPlan } from "../core/plan.ts";
import type { CommandPorts, Connection } from "../core/ports.ts";
import { patientFetch } from "../core/transport.ts";
import { exitCode, type Io, oneLine, printJson, screenOf } from "../output/output.ts";
import { withProgress } from "../output/progress.ts";
import { paint, type Style } from "../output/screen.ts";
import { fitText } from "../output/text.ts";

const signs: Readonly<Record<CheckStatus, { readonly sign: string; readonly style: Style | undefined }>> = {
  pass: { sign: "✓", style: "green" },
  warn: { sign: "!", style: "yellow" },
  fail: { sign: "✗", style: "red" },
  skip: { sign: "-", style: "dim" },
};

const signColumns = 2;
const statusColumns = 5;
const gap = 2;
const fewestMessageColumns = 12;

/** What a finding means and what to do about it; nothing for a check of a plugin, whose message has to say it. */
function printMeaning({ out }: Io, { check_id: id }: HealthCheckResult): void {
  const known = meaningOfCheck(id);
  if (known === undefined) return;
  const indent = " ".repeat(signColumns + statusColumns);
  out(`${indent}why: ${known.meaning}\n${indent}do:  ${known.remedy}\n`);
}

function printResults(io: Io, results: readonly HealthCheckResult[], isExplained: boolean): void {
  if (results.length === 0) return;
  const screen = screenOf(io);
  const columns = screen.columns() ?? Number.POSITIVE_INFINITY;
  const ids = results.map(({ check_id: id }) => id.length);
  const space = columns - signColumns - statusColumns - gap - fewestMessageColumns;
  const idColumns = Math.max(4, Math.min(Math.max(...ids), space));
  for (const category of new Set(results.map((result) => result.category))) {
    io.out(`${paint(screen, "bold", oneLine(category))}\n`);
    for (const result of results.filter((each) => each.category === category)) {
      const { sign, style } = signs[result.status];
      const head = `${fitText(oneLine(result.check_id), idColumns).padEnd(idColumns)}  `;
      const message = fitText(oneLine(result.message), columns - signColumns - statusColumns - idColumns - gap);
      io.out(`${paint(screen, style, `${sign} ${result.status.padEnd(statusColumns)}`)}${head}${message}\n`);
      if (isExplained && isUnhealthy(result)) printMeaning(io, result);
    }
  }
}

function sumInWords(io: Io, results: readonly HealthCheckResult[]): string {
  const screen = screenOf(io);
  const count = (status: CheckStatus): number => results.filter((result) => result.status === status).length;
  const [failed, warned, skipped] = [count("fail"), count("warn"), count("skip")];
  const fixable = results.filter((each) => each.fixable && isUnhealthy(each)).length;
  const left = skipped === 0 ? "" : `, ${skipped} skipped (--skipped lists them)`;
  if (failed + warned === 0) {
    return `${paint(screen, "green", "All healthy")}: ${counted(results.length, "check")}${left}\n`;
  }
  const parts = [failed === 0 ? "" : `${failed} failed`, warned === 0 ? "" : `${warned} warned`].filter(Boolean);
  const help = fixable === 0 ? "" : `; ${fixable} can be fixed (--fix)`;
  const found = paint(screen, failed > 0 ? "red" : "yellow", `Problems found: ${parts.join(", ")}`);
  return `${found} of ${counted(results.length, "check")}${left}${help}\n`;
}

function printFixed(io: Io, { success, message, steps }: FixResult): void {
  const screen = screenOf(io);
  for (const { action, status, message: came } of steps) {
    io.out(`  ${status}: ${oneLine(action)}${came === "" ? "" : `: ${oneLine(came)}`}\n`);
  }
  io.out(`${paint(screen, success ? "green" : "red", success ? "fixed" : "not fixed")}: ${oneLine(message)}\n`);
}

interface DoctorOptions {
  readonly fix?: boolean;
  readonly dryRun?: boolean;
  readonly check?: string;
  readonly category?: string;
  readonly skipped?: boolean;
  readonly yes?: boolean;
  readonly confirm?: boolean;
  readonly offline?: boolean;
  readonly json?: boolean;
  readonly why?: boolean;
}

const progressText = (count: number, { check_id: id, status }: Pick<HealthCheckResult, "check_id" | "status">) =>
  `${count} checked, the last: ${id} ${status}`;

async function askService({ io }: CommandPorts, connection: Connection, { check }: DoctorOptions) {
  const { client } = connection;
  if (check !== undefined) {
    const result = await withProgress(io, `checking ${check}`, () => client.getCheck({ params: { check_id: check } }));
    return [result];
  }
  return withProgress(io, "checking", async (progress) => {
    const over = new AbortController();
    const seen = new Set<string>();
    const watch = async (): Promise<void> => {
      const { url, key, openSocket } = connection;
      for await (const frame of streamChecks({ url, key, openSocket, signal: over.signal })) {
        seen.add(frame.check_id);
        progress.show(progressText(seen.size, frame));
      }
    };
    // Nothing reads the stream where no progress is shown.
    const watched = io.screen?.showsProgress ? watch() : Promise.resolve();
    try {
      return (await client.listChecks()).results;
    } finally {
      over.abort();
      await watched;
    }
  });
}

async function checkHere({ io, local, person }: CommandPorts): Promise<HealthCheckList> {
  const signal = person.interrupted();
  return withProgress(io, "checking", (progress) => {
    let count = 0;
    const work = local.runChecks((result) => {
      count += 1;
      progress.show(progressText(count, result));
    });
    return untilAborted(work, signal);
  });
}

interface Found {
  readonly results: readonly HealthCheckResult[];
  readonly connection: Connection | undefined;
  /** Why a service that was not reached cannot start. */
  readonly startFaults: readonly string[];
}

/** Asks the service; without one runs the checks in this process. */
async function findProblems(ports: CommandPorts, options: DoctorOptions, command: Command): Promise<Found> {
  const { io } = ports;
  const isNamed = !options.offline && ports.isNamed(command);
  let reason = "as requested (--offline)";
  let startFaults: readonly string[] = [];
  if (!options.offline) {
    try {
      const connection = await ports.connect(command, { fetch: patientFetch, signal: ports.person.interrupted() });
      return { results: await askService(ports, connection, options), connection, startFaults: [] };
    } catch (error) {
      // Another host's checks cannot be run from here; and a service that refuses a key is there.
      if (isNamed || !(isRefused(error) || error instanceof NoKey)) throw error;
      reason = explainError(error);
      startFaults = (await ports.local.checkConfig(undefined)).faults.map(({ text }) => text);
    }
  }
  io.err(`steward: checking without the service, read-only: ${reason}\n`);
  for (const fault of startFaults) io.err(`steward: the service cannot start: ${fault}\n`);
  const { results } = await checkHere(ports);
  const chosen = options.check === undefined ? results : results.filter(({ check_id: id }) => id === options.check);
  if (chosen.length === 0 && options.check !== undefined)
    throw new Error(`cannot check ${oneLine(options.check)}: there is no such check`);
  return { results: chosen, connection: undefined, startFaults };
}

/** Runs a fix. @throws Interrupted at Ctrl-C: the fix continues. */
async function fixNow({ io, person }: CommandPorts, { client, planToken }: Connection, id: string, isRisky: boolean) {
  const signal = person.interrupted();
  // Its plan says what risk it has, so that one that has become risky is refused.
  const call = { params: { check_id: id }, body: { confirm: isRisky || planToken !== undefined } };
  try {
    return await withProgress(io, `fixing ${id}`, () => client.fixCheck(call));
  } catch (error) {
    if (!signal.aborted) throw error;
    io.err(`steward: the fix continues; to see the result: ${commandFor(client, `doctor --check ${oneLine(id)}`)}\n`);
    throw new Interrupted();
  }
}

interface FixOutcome {
  readonly check: HealthCheckResult;
  /** Null where the key may not fix it. */
  readonly plan: Plan | null;
  readonly fix: Omit<FixResult, "check"> | null;
}

async function fixOne(
  ports: CommandPorts,
  connection: Connection,
  options: DoctorOptions,
  result: HealthCheckResult,
): Promise<FixOutcome> {
  const { io } = ports;
  const id = result.check_id;
  const call = { params: { check_id: id }, query: { dry_run: true }, body: { confirm: true } };
  const plan = await connection.client.fixCheck(call).then(asPlan, (error: unknown) => {
    // The key may be allowed to fix other findings.
    if (error instanceof ApiError && error.code === "FORBIDDEN") return error;
    throw error;
  });
  if (plan instanceof ApiError) {
    ports.io.out(`\n${id}\nleft alone: ${oneLine(inOwnWords(plan.message))}\n`);
    return { check: result, plan: null, fix: null };
  }
  const isRisky = plan.risk === "risky";
  const leftAlone = { check: result, plan, fix: null };
  const isOver = plan.steps.length === 0;
  const shownTo = isOver || options.dryRun ? io : ioOfPlan(ports, options);
  shownTo.out(`\n${id}: ${plan.fix_id ?? "fix"} (${plan.risk ?? "no risk said"})\n`);
  printPlan(shownTo, plan);
  if (isOver || options.dryRun) return leftAlone;
  if (isRisky && options.yes && !options.confirm) {
    io.out("left alone: it is risky (--yes --confirm does it without asking)\n");
    return leftAlone;
  }
  const question = isRisky ? "This is risky. Do it?" : "Do it?";
  if (!(await isWanted(ports, question, options))) return leftAlone;
  const fixed = await carryOutPlan(ports, {
    plan,
    question: () => question,
    options,
    carryOut: (agreed) => fixNow(ports, withPlan(connection, agreed), id, isRisky),
  });
  if (fixed === undefined) return leftAlone;
  printFixed(io, fixed.done);
  const { check, ...fix } = fixed.done;
  return { check, plan, fix };
}

async function fixAll(
  ports: CommandPorts,
  { results, connection }: Found,
  options: DoctorOptions,
): Promise<readonly HealthCheckResult[]> {
  const { io } = ports;
  if (connection === undefined) throw new Error("cannot fix anything without the service (start it: steward serve)");
  const { json, ...textOptions } = options;
  // With --json all is printed at the end.
  const quiet = json ? { ...ports, io: { ...io, out: () => undefined } } : ports;
  const after: HealthCheckResult[] = [];
  const fixes: object[] = [];
  for (const result of results) {
    const fixed =
      isUnhealthy(result) && result.fixable ? await fixOne(quiet, connection, textOptions, result) : undefined;
    after.push(fixed?.check ?? result);
    if (fixed !== undefined) fixes.push({ check_id: result.check_id, plan: fixed.plan, result: fixed.fix });
  }
  if (json) printJson(io, { results: after, by: "the service", fixes });
  else io.out(`\n${sumInWords(io, after)}`);
  return after;
}

export function addDoctorCommand(program: Command, ports: CommandPorts): void {
  const { io, finish } = ports;
  program
    .command("doctor")
    .description("run the health checks, and fix what they find")
    .option("--fix", "show what would be done about each finding, ask, and do it")
    .option("--dry-run", "with --fix: show what would be done, and do nothing")
    .addOption(new NamedOption("--check <id>", "only this check, and now", "check"))
    .option("--category <name>", "only checks of this category")
    .option("--skipped", "also list skipped checks, which do not apply to this host")
    .option("--why", "below each finding: what it means, and what to do")
    .option("-y, --yes", "with --fix: do not ask; risky fixes are skipped without --confirm")
    .option("--confirm", "with --yes: also apply risky fixes")
    .option("--offline", "do not ask the service: run the checks in this process, read-only")
    .json("print the results as JSON; with --fix and --yes what was done too")
    .notes(`Where no service runs on this host, or its key cannot be read, the checks run in this process, as the user who calls; then
nothing is fixed, and those of plugins are left out.

Exit code: 0 all healthy, 1 something warns or fails, 2 the checks could not be run.`)
    .action(async (options: DoctorOptions, command: Command) => {
      if (options.dryRun && !options.fix) command.error("error: --dry-run needs --fix");
      if (options.fix && options.json && !options.yes && !options.dryRun)
        command.error("error: --fix asks for confirmation, which --json cannot: add --yes");
      const found = await findProblems(ports, options, command);
      const { results, connection, startFaults } = found;
      const chosen = results.filter(({ category }) => options.category === undefined || category === options.category);
      if (chosen.length === 0)
        throw new Error(`cannot check: there is no check of category ${oneLine(options.category ?? "")}`);
      const finishWith = (list: readonly HealthCheckResult[]): void =>
        finish(list.some(isUnhealthy) || startFaults.length > 0 ? exitCode.foundTrouble : exitCode.fine);
      finishWith(chosen);
      if (options.json && !options.fix)
        return printJson(
          io,
          connection === undefined
            ? { results: chosen, by: "this process", start_faults: startFaults }
            : { results: chosen, by: "the service" },
        );
      const isListed = ({ status }: HealthCheckResult): boolean =>
        status !== "skip" || options.skipped === true || options.check !== undefined;
      if (!options.json) printResults(io, chosen.filter(isListed), options.why === true);
      if (!options.fix) return io.out(sumInWords(io, chosen));
      finishWith(await fixAll(ports, { ...found, results: chosen }, options));
    });
}
