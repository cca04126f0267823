import { closeSync, existsSync, fsyncSync, openSync, writeFileSync } from "node:fs";
import { writeFileAtomic } from "#adapters/files/index.ts";
import { logQueryLimit } from "#contract/limits.ts";
import { isRecord } from "#kernel/values.ts";
import { type Command, integer } from "../core/command.ts";
import { timeOption } from "../core/log-time.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Collected, collectParts, settingsOf } from "../core/report-parts.ts";
import { exitCode, type Io, oneLine, printJson } from "../output/output.ts";
import { printTable } from "../output/table.ts";

interface ReportOptions {
  readonly output?: string;
  readonly force?: boolean;
  readonly preview?: boolean;
  readonly json?: boolean;
  readonly since?: string;
  readonly lines: number;
  readonly config?: string;
}

const dayMs = 24 * 60 * 60 * 1000;
const usualLines = 2_000;
const lineCount = integer(1, logQueryLimit.maximum);

const note =
  "Made by steward report. What looks like a secret is replaced by [redacted]; names of hosts and users, addresses and messages stay. Read it before you pass it on.";

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value, null, 2));

/** The name of the host, in the name of a file. */
function hostIn({ parts }: Collected): string {
  const value = parts.find(({ name }) => name === "host")?.value;
  const name = isRecord(value) ? value["hostname"] : undefined;
  return typeof name === "string" && /^[A-Za-z0-9][A-Za-z0-9.-]{0,63}$/.test(name) ? name : "host";
}

const fileTime = (date: Date): string => date.toISOString().slice(0, 19).replaceAll(/[-:]/g, "");

/** What would be in it, with sizes, and what would not. */
function printPreview(io: Io, { parts, missing }: Collected): void {
  printTable(io, parts, {
    part: ({ name }) => name,
    bytes: ({ value }) => String(sizeOf(value)),
    "what it is": ({ about }) => about,
  });
  for (const { name, about, reason } of missing) io.out(`missing: ${name} (${about}): ${oneLine(reason)}\n`);
}

/** @throws Error where there is such a file already. */
function writeReport(path: string, text: string, isForced: boolean): void {
  if (isForced) {
    writeFileAtomic(path, text);
    return;
  }
  if (existsSync(path)) throw new Error(`cannot write ${path}: it is there already (--force replaces it)`);
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** `steward report`: what a support case needs, in one file, without secrets. */
export function addReportCommand(program: Command, ports: CommandPorts): void {
  const { io, now, connect, finish, local, isNamed } = ports;
  program
    .command("report")
    .description("all that a support case needs in one file, without secrets; nothing is sent anywhere")
    .option("--preview", "only list what would be in it, and what would be missing")
    .option("-O, --output <file>", "the file to make (steward-report-HOST-TIME.json here when left out)")
    .option("--force", "also where that file is there already")
    .option("-S, --since <time>", "logs from then on (the last day when left out)", timeOption(now))
    .option("-n, --lines <count>", "maximum lines of each kind of logs", lineCount, usualLines)
    .option("--config <file>", "settings file to include (that of the service of this host when left out)")
    .json("print it as JSON instead of writing a file")
    .notes(`It has what the key may read; what is refused is listed in it with the reason. The file is JSON, for its owner alone.

  steward report --preview
  steward report -O case-4711.json --since -2h
  jq -r '.warnings[]' case-4711.json`)
    .action(async (options: ReportOptions, command: Command) => {
      const { client } = await connect(command);
      const madeAt = new Date(now());
      const { since = new Date(now() - dayMs).toISOString(), lines, config } = options;
      const collected = await collectParts(
        { client, since, lines },
        {
          redact: local.redact,
          settings: async () => {
            if (config === undefined && isNamed(command))
              throw new Error("only on the host of the service: --config names a settings file");
            return settingsOf(local, config);
          },
        },
      );
      finish(exitCode.fine);
      if (options.preview) return printPreview(io, collected);
      const { parts, missing } = collected;
      const report = {
        report: { made_at: madeAt.toISOString(), logs_since: since, note, missing },
        ...Object.fromEntries(parts.map(({ name, value }) => [name, value])),
      };
      if (options.json) return printJson(io, report);
      const path = options.output ?? `steward-report-${hostIn(collected)}-${fileTime(madeAt)}.json`;
      writeReport(path, `${JSON.stringify(report, null, 2)}\n`, options.force === true);
      io.out(`${oneLine(path)}: ${parts.length} parts, ${sizeOf(report)} bytes\n`);
      for (const { name, reason } of missing) io.out(`missing: ${name}: ${oneLine(reason)}\n`);
    });
}
