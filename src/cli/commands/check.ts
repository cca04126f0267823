import { InvalidArgumentError } from "commander";
import { type Answer, ApiError, type Client } from "#client/index.ts";
import { isUnhealthy } from "#contract/checks.ts";
import { errorMessage } from "#kernel/errors.ts";
import { clipText, counted } from "#kernel/text.ts";
import { isRecord } from "#kernel/values.ts";
import { type Command, checkArgument } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { exitCode, type Io, oneLine, printJson } from "../output/output.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { formatTime } from "../output/text.ts";

type Result = Answer<"getCheck">;

const states = {
  pass: { code: 0, word: "OK" },
  warn: { code: 1, word: "WARNING" },
  fail: { code: 2, word: "CRITICAL" },
  skip: { code: 3, word: "UNKNOWN" },
} as const satisfies Record<Result["status"], { code: number; word: string }>;

export const unknownCode = states.skip.code;

/** Monitoring systems cut longer output in the middle of a figure; the message has at most 1000 characters. */
const maxPerfdataChars = 6000;

const units: readonly (readonly [name: RegExp, unit: string])[] = [
  [/(^|_)bytes$/, "B"],
  [/(^|_)percent($|_)/, "%"],
  [/_seconds$/, "s"],
  [/_ms$/, "ms"],
  [/_gb$/, "GB"],
];

function plain(value: number): string {
  const text = String(value);
  return text.includes("e") ? value.toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: 20 }) : text;
}

const quotedLabel = (label: string): string =>
  /^[\w./:\\-]+$/.test(label) ? label : `'${label.replaceAll(/\p{Cc}+/gu, " ").replaceAll("'", "''")}'`;

/** A figure of a plugin as the plugin wrote it; undefined for anything else. */
function passedOn(value: unknown): string | undefined {
  if (!isRecord(value) || typeof value["label"] !== "string") return undefined;
  const { value: figure, unit } = value;
  const range = (field: unknown): string => (isRecord(field) ? String(field["text"]) : "");
  const bound = (field: unknown): string => (typeof field === "number" ? plain(field) : "");
  const fields = [
    typeof figure === "number" ? `${plain(figure)}${String(unit)}` : "U",
    range(value["warn"]),
    range(value["crit"]),
    bound(value["min"]),
    bound(value["max"]),
  ];
  return `${quotedLabel(value["label"])}=${fields.join(";").replace(/;+$/, "")}`;
}

function figureOf([name, value]: readonly [name: string, value: unknown]): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  const unit = units.find(([pattern]) => pattern.test(name))?.[1] ?? "";
  return `${quotedLabel(name)}=${plain(value)}${unit}`;
}

/** The figures of a check as performance data: those of a plugin, else every number of the details. */
export function perfdataOf({ details }: Pick<Result, "details">): string {
  const entries: readonly (readonly [string, unknown])[] = Object.entries(details);
  const own = entries.find(([name]) => name === "perfdata")?.[1];
  const items: readonly (string | undefined)[] = Array.isArray(own) ? own.map(passedOn) : entries.map(figureOf);
  let space = maxPerfdataChars;
  return items
    .filter((item) => item !== undefined)
    .filter((item) => {
      space -= item.length + 1;
      return space >= 0;
    })
    .join(" ");
}

const harmless = (text: string): string => oneLine(text).replaceAll("|", "/");

export function nagiosReport(result: Pick<Result, "check_id" | "status" | "message" | "details">): {
  readonly line: string;
  readonly code: number;
} {
  const { code, word } = states[result.status];
  const perfdata = perfdataOf(result);
  const text = `${harmless(result.check_id).toUpperCase()} ${word} - ${harmless(result.message)}`;
  return { line: perfdata === "" ? text : `${text} | ${oneLine(perfdata)}`, code };
}

export const nagiosUnknown = (reason: string): string => `STEWARD ${states.skip.word} - ${harmless(reason)}`;

/** Whether a command line asks for the plugin interface. It is asked before parsing: a usage error is answered in it too. */
export function speaksNagios(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const words = end === -1 ? argv : argv.slice(0, end);
  return words.includes("check") && words.includes("--nagios");
}

/** Longer than a check may take unless its settings say otherwise. */
const defaultTimeoutSeconds = 60;
const longestTimeoutSeconds = 24 * 60 * 60;
const maxTableChars = 100;

function seconds(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= longestTimeoutSeconds) return value;
  throw new InvalidArgumentError(`it must be a number of seconds up to ${longestTimeoutSeconds}`);
}

const styles: Readonly<Record<Result["status"], Style>> = { pass: "green", warn: "yellow", fail: "red", skip: "dim" };

function printChecks(io: Io, { summary, results }: Answer<"listChecks">): void {
  printTable(io, results, {
    check: ({ check_id: id }) => id,
    status: ({ status }) => ({ text: status, style: styles[status] }),
    since: ({ since }) => formatTime(since),
    message: ({ message }) => clipText(oneLine(message), maxTableChars),
  });
  const { total, passed, warned, failed, skipped } = summary;
  io.out(`${counted(total, "check")}: ${passed} pass, ${warned} warn, ${failed} fail, ${skipped} skip\n`);
}

/** Names what to read about a finding. A service of an earlier version has none. */
async function printRunbook(io: Io, service: Client, check: string): Promise<void> {
  try {
    const { runbooks } = await service.listRunbooks({ query: { check } });
    for (const { id } of runbooks.slice(0, 1))
      io.out(`runbook: ${oneLine(id)} (steward runbooks show ${oneLine(id)})\n`);
  } catch (error) {
    if (error instanceof ApiError && error.code === "NOT_FOUND") return;
    io.err(`steward: cannot name the runbook: ${oneLine(errorMessage(error))}\n`);
  }
}

export function addCheckCommand(program: Command, { io, connect, finish }: CommandPorts): void {
  const checkOne = async (service: Client, id: string, options: { nagios?: boolean; json?: boolean }) => {
    const result = await service.getCheck({ params: { check_id: id } });
    if (options.nagios) {
      const { line, code } = nagiosReport(result);
      finish(code);
      return io.out(`${line}\n`);
    }
    finish(isUnhealthy(result) ? exitCode.foundTrouble : exitCode.fine);
    if (options.json) return printJson(io, result);
    io.out(`${oneLine(`${result.check_id} ${result.status}: ${result.message}`)}\n`);
    if (isUnhealthy(result)) await printRunbook(io, service, id);
  };

  const checkAll = async (service: Client, options: { json?: boolean }) => {
    const answer = await service.listChecks();
    finish(answer.results.some(isUnhealthy) ? exitCode.foundTrouble : exitCode.fine);
    if (options.json) return printJson(io, answer);
    printChecks(io, answer);
  };

  program
    .command("check")
    .description("run a health check; without an id, list all")
    .addArgument(checkArgument("[id]"))
    .option("--nagios", "answer as a plugin of Nagios, Icinga and similar systems does")
    .json()
    .option("--timeout <seconds>", "how long to wait for the answer", seconds, defaultTimeoutSeconds)
    .notes(`Exit code: 0 all healthy or skipped, 1 something warns or fails, 2 the service could not be asked.
With --nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (skipped, or anything that went wrong), and one line

  DISK_SPACE OK - / is 17 % full | percent_used=17.2%`)
    .action(
      async (
        id: string | undefined,
        options: { nagios?: boolean; json?: boolean; timeout: number },
        command: Command,
      ) => {
        if (options.nagios && options.json) command.error("error: --nagios and --json do not go together");
        if (options.nagios && id === undefined) command.error("error: --nagios needs the id of a check");
        const { client: service } = await connect(command, {
          signal: AbortSignal.timeout(Math.ceil(options.timeout * 1000)),
        });
        return id === undefined ? checkAll(service, options) : checkOne(service, id, options);
      },
    );
}
