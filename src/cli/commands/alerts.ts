import type { Command } from "commander";
import { Argument, InvalidArgumentError, Option } from "commander";
import type { Answer, Client } from "#client/index.ts";
import { type AlertName, alertNames } from "#contract/alerts.ts";
import { presetCommand } from "../core/preset-command.ts";
import type { Io } from "../output/output.ts";
import { exitCode, oneLine, printJson } from "../output/output.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";

interface Ports {
  readonly io: Io;
  readonly now: () => number;
  readonly client: (command: Command) => Promise<Client>;
  readonly finish: (code: number) => void;
}

type AlertList = Answer<"listAlerts">;

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const duration = /^([1-9]\d{0,4})([mhd])$/;

/** `30m`, `4h`, `2d` in milliseconds. */
function durationMs(text: string): number {
  const match = duration.exec(text);
  if (match === null) throw new InvalidArgumentError("it must be a time such as 30m, 4h or 2d");
  return Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
}

const evaluatedBy: Readonly<Record<AlertList["alerts"][number]["evaluated_by"], string>> = {
  steward: "not measured",
  prometheus: "by Prometheus",
  systemd: "by systemd",
  nobody: "by nobody",
};

const styles: Readonly<Record<AlertList["alerts"][number]["state"], Style | undefined>> = {
  inactive: undefined,
  pending: "yellow",
  firing: "red",
  not_evaluated: "dim",
};

function printAlerts(io: Io, { alerts, firing }: AlertList): void {
  printTable(
    io,
    ["alert", "severity", "state", "since", "value", "condition"],
    alerts.map((alert) => {
      const { name, severity, state, since, value, condition, silenced } = alert;
      const shown = state === "not_evaluated" ? evaluatedBy[alert.evaluated_by] : state;
      const text = silenced ? `${shown}, silenced` : shown;
      return [name, severity, { text, style: styles[state] }, since ?? "", value ?? "", condition];
    }),
  );
  io.out(`${firing} firing\n`);
}

function printSilences(io: Io, { silences }: Answer<"listSilences">): void {
  printTable(
    io,
    ["id", "alert", "until", "by", "comment"],
    silences.map(({ id, alert, until, created_by: by, comment }) => [id, alert, until, by, comment]),
  );
}

function addListCommand(alerts: Command, { io, client, finish }: Ports): void {
  presetCommand(alerts, "list")
    .description("list all alerts and their states")
    .option("--json", "print the answer as JSON")
    .addHelpText(
      "after",
      "\nExit code: 0 nothing fires, or what fires is silenced; 1 something fires; 2 it could not be asked.",
    )
    .action(async (options: { json?: boolean }, command: Command) => {
      const answer = await (await client(command)).listAlerts();
      const isTrouble = answer.alerts.some(({ state, silenced }) => state === "firing" && !silenced);
      finish(isTrouble ? exitCode.foundTrouble : exitCode.fine);
      if (options.json) return printJson(io, answer);
      printAlerts(io, answer);
    });
}

function addSilenceCommands(alerts: Command, { io, now, client }: Ports): void {
  alerts
    .command("silence")
    .description("tell nobody of an alert for a while")
    .addArgument(new Argument("<alert>", "the alert").choices(alertNames))
    .addOption(
      new Option("--for <time>", "for how long: 30m, 4h, 2d; 30 days at most")
        .argParser(durationMs)
        .makeOptionMandatory(),
    )
    .option("--comment <text>", "why, for others", "")
    .option("--json", "print the answer as JSON")
    .action(async (alert: AlertName, options: { for: number; comment: string; json?: boolean }, command: Command) => {
      const until = new Date(now() + options.for).toISOString();
      const silence = await (await client(command)).silenceAlert({ body: { alert, until, comment: options.comment } });
      if (options.json) return printJson(io, silence);
      io.out(`${oneLine(`${silence.alert} is silenced until ${silence.until} (${silence.id})`)}\n`);
    });
  alerts
    .command("silences")
    .description("list silences that have not ended")
    .option("--json", "print the answer as JSON")
    .action(async (options: { json?: boolean }, command: Command) => {
      const answer = await (await client(command)).listSilences();
      if (options.json) return printJson(io, answer);
      printSilences(io, answer);
    });
  alerts
    .command("unsilence")
    .description("end a silence")
    .argument("<id>", "its id, as `steward alerts silences` has it")
    .option("--json", "print the answer as JSON")
    .action(async (id: string, options: { json?: boolean }, command: Command) => {
      const answer = await (await client(command)).removeSilence({ params: { id } });
      if (options.json) return printJson(io, answer);
      io.out(`${oneLine(answer.message)}\n`);
    });
}

/** `steward alerts [list]|silence|silences|unsilence`. */
export function addAlertsCommands(program: Command, ports: Ports): void {
  const alerts = program.command("alerts").description("list alerts, and silence them");
  addListCommand(alerts, ports);
  addSilenceCommands(alerts, ports);
}
