import { InvalidArgumentError } from "commander";
import type { Answer } from "#client/index.ts";
import { alertNames } from "#contract/alerts.ts";
import { counted } from "#kernel/text.ts";
import { answerCommand } from "../core/answer-command.ts";
import { type Command, checkIds, SuggestingArgument } from "../core/command.ts";
import { parseDuration } from "../core/log-time.ts";
import { type AddCommand, commandGroup, listCommand, showCommand } from "../core/operation-command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printFields, printMessage } from "../output/print.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { formatTime } from "../output/text.ts";

type AlertList = Answer<"listAlerts">;

function durationMs(text: string): number {
  const found = parseDuration(text);
  if (found === undefined) throw new InvalidArgumentError("it must be a time such as 30m, 4h or 2d");
  return found;
}

function silencedName(text: string): string {
  if (alertNames.some((name) => name === text) || /^[a-z0-9_-]{1,128}$/.test(text)) return text;
  throw new InvalidArgumentError(`it is neither an alert (${alertNames.join(", ")}) nor the id of a health check`);
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

const fires = ({ state, silenced }: Pick<AlertList["alerts"][number], "state" | "silenced">): boolean =>
  state === "firing" && !silenced;

const listAlerts = listCommand("listAlerts", "list", {
  about: "list all alerts and their states",
  notes: "Exit code: 0 nothing fires, or what fires is silenced; 1 something fires; 2 the request failed.",
  isTrouble: ({ alerts }) => alerts.some(fires),
  rows: "alerts",
  columns: {
    alert: "name",
    severity: "severity",
    state({ state, evaluated_by: by, silenced }) {
      const shown = state === "not_evaluated" ? evaluatedBy[by] : state;
      return { text: silenced ? `${shown}, silenced` : shown, style: styles[state] };
    },
    since: ({ since }) => (since === null ? "" : formatTime(since)),
    value: "value",
    condition: "condition",
  },
  below: (io, { firing }) => io.out(`${firing} firing\n`),
});

const showAlert = showCommand("getAlert", "show", {
  about: "one alert and its state",
  notes: "Exit code: 0 it does not fire, or is silenced; 1 it fires; 2 the request failed.",
  words: { name: { as: "<name>", about: `the alert (${alertNames.join(", ")})`, suggested: alertNames } },
  isTrouble: fires,
});

function printSilences(io: Io, { silences }: Answer<"listSilences">): void {
  printTable(io, silences, {
    id: "id",
    alert: ({ alert, check }) => alert ?? check ?? "",
    until: ({ until }) => formatTime(until),
    by: "created_by",
    comment: "comment",
  });
  io.out(`${counted(silences.length, "silence")}\n`);
}

function addSilenceCommand(alerts: Command, ports: CommandPorts): void {
  const silence = alerts
    .command("silence")
    .description("silence an alert or a health check")
    .addArgument(
      new SuggestingArgument("<name>", `the alert (${alertNames.join(", ")}) or the id of the health check`, [
        ...alertNames,
        ...checkIds,
      ]).argParser(silencedName),
    )
    .requiredOption("--for <time>", "for how long: 30m, 4h, 2d; 30 days at most", durationMs)
    .option("--comment <text>", "reason, shown to others", "");
  answerCommand(ports, silence, {
    ask: (client, name: string, { for: forMs, comment }: { for: number; comment: string }) => {
      const alert = alertNames.find((each) => each === name);
      const until = new Date(ports.now() + forMs).toISOString();
      return client.silenceAlert({ body: { ...(alert === undefined ? { check: name } : { alert }), until, comment } });
    },
    print: (io, { alert, check, until, id }) =>
      io.out(`${oneLine(`${alert ?? check} is silenced until ${formatTime(until)} (${id})`)}\n`),
  });
}

const addSilencesCommand: AddCommand = (alerts, ports) => {
  const list = alerts
    .command("silences")
    .description("list active silences, or show one")
    .argument("[id]", "the one to show");
  answerCommand(ports, list, {
    ask: (client, id: string | undefined): Promise<Answer<"listSilences"> | Answer<"getSilence">> =>
      id === undefined ? client.listSilences() : client.getSilence({ params: { id } }),
    print: (io, answer) => ("silences" in answer ? printSilences(io, answer) : printFields(io, answer)),
  });
};

export const addAlertsCommands = commandGroup(
  { name: "alerts", about: "list alerts, and silence them", preset: "list" },
  [
    listAlerts,
    showAlert,
    addSilenceCommand,
    addSilencesCommand,
    showCommand("removeSilence", "unsilence", {
      about: "end a silence",
      words: { id: { as: "<id>", about: "its id, as `steward alerts silences` has it" } },
      print: printMessage,
    }),
  ],
);

const listNotifications = listCommand("listNotifications", "list", {
  about: "list notifications and their outcome, newest first",
  rows: "notifications",
  columns: {
    at: ({ created_at: at }) => formatTime(at),
    channel: "channel",
    outcome: ({ outcome }) => ({ text: outcome, style: outcome === "failed" ? "red" : undefined }),
    attempts: "attempts",
    what: ({ title, error }) => (error === null ? title : `${title} (${error})`),
  },
  counts: "notification",
});

function printTest(io: Io, { results, message }: Answer<"testNotifications">): void {
  for (const { channel, to, message: outcome } of results)
    io.out(`${oneLine(`${channel}${to.length === 0 ? "" : ` (${to.join(", ")})`}: ${outcome}`)}\n`);
  if (results.length === 0) io.out(`${oneLine(message)}\n`);
}

export const addNotifyCommands = commandGroup(
  { name: "notify", about: "list sent notifications, and test the channels", preset: "list" },
  [
    listNotifications,
    showCommand("testNotifications", "test", {
      about: "send a test notification to every channel of the settings, or to one",
      notes: "Exit code: 0 accepted by all channels, 1 refused by at least one, 2 the service could not be asked.",
      words: { channel: { as: "[channel]", about: "send to this channel only" } },
      isTrouble: ({ success }) => !success,
      print: printTest,
    }),
  ],
);
