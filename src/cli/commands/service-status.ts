import { type Answer, ApiError } from "#client/index.ts";
import { serviceUnitName } from "#contract/system.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { answerCommand } from "../core/answer-command.ts";
import { type Command, namedArgument } from "../core/command.ts";
import { UnknownUnit } from "../core/errors.ts";
import type { Word } from "../core/operation-words.ts";
import type { CommandPorts } from "../core/ports.ts";
import { formatEntry, logStyle } from "../output/log-format.ts";
import { type Io, oneLine, screenOf } from "../output/output.ts";
import { paint, plainScreen, type Style, stateStyle } from "../output/screen.ts";
import { fitText, formatAge, formatSpan, textWidth, wrapText } from "../output/text.ts";

type Details = Answer<"getService">;

export const serviceName = {
  as: "<name>",
  about: "unit name; nginx means nginx.service",
  names: "service",
} as const satisfies Word;

const labelWidth = 10;
const mostRuns = 5;
const mostProcesses = 8;
const mostLines = 3;
const mostEntries = 10;

const spanOf = (durationMs: number): string =>
  durationMs < 10_000 ? `${(durationMs / 1000).toFixed(durationMs < 1000 ? 3 : 1)} s` : formatSpan(durationMs / 1000);

function stateText({ active_state: state, sub_state: sub, since, restarts }: Details, now: number): string {
  const words = [`${state} (${sub})`];
  if (since !== null) words.push(`since ${formatAge(since, now)}`);
  if (restarts > 0) words.push(`restarted ${counted(restarts, "time")} by systemd`);
  return words.join(", ");
}

function bootText({ unit_file_state: state, load_state: loaded }: Details): string {
  const words: Readonly<Record<string, string>> = {
    enabled: "starts at boot",
    disabled: "does not start at boot",
    static: "only other units start it (static)",
    masked: "masked: nothing can start it",
    "": "has no unit file",
  };
  const text = words[state] ?? state;
  return loaded === "loaded" || loaded === "masked" ? text : `${text}; systemd cannot load it (${loaded})`;
}

function usageTexts({ resources, limits, main_pid: pid, processes_total: processes }: Details): readonly string[] {
  const memory = resources.memory_bytes;
  const most = limits.memory_max_bytes === null ? "" : ` of ${formatBytes(limits.memory_max_bytes)}`;
  const peak = resources.memory_peak_bytes;
  return [
    ...(pid === null ? [] : [`main process ${pid}`]),
    ...(processes > 1 ? [counted(processes, "process", "processes")] : []),
    ...(memory === null ? [] : [`memory ${formatBytes(memory)}${most}`]),
    ...(peak === null ? [] : [`peak ${formatBytes(peak)}`]),
    ...(resources.cpu_seconds === null ? [] : [`processor time ${spanOf(resources.cpu_seconds * 1000)}`]),
    ...(resources.tasks === null ? [] : [counted(resources.tasks, "task")]),
    ...(resources.io_read_bytes === null ? [] : [`read ${formatBytes(resources.io_read_bytes)}`]),
    ...(resources.io_write_bytes === null ? [] : [`written ${formatBytes(resources.io_write_bytes)}`]),
  ];
}

function triggerText({ name, active_state: state, timer, socket, path }: Details["triggered_by"][number], now: number) {
  const next = timer?.next_at;
  const details = [
    ...(next === undefined || next === null ? [] : [`next in ${formatSpan((Date.parse(next) - now) / 1000)}`]),
    ...(socket?.listens ?? []).map(({ address }) => address),
    ...(path?.rules ?? []).map(({ condition, path: watched }) => `${condition} ${watched}`),
  ];
  return `${name} (${state}${details.length > 0 ? `; ${details.join(", ")}` : ""})`;
}

function runText({ started_at: start, duration_ms: duration, result, exit }: Details["last_run"], now: number): string {
  const began = start === null ? "start not known" : formatAge(start, now);
  const took = duration === null ? "" : ` after ${spanOf(duration)}`;
  return `${began}: ${result}${exit === "" ? "" : ` (${exit})`}${took}`;
}

const isFailed = (result: string): boolean => !["running", "success", "unknown"].includes(result);

type Line = readonly [label: string, text: string, style?: Style | undefined];

const several = (label: string, texts: readonly string[]): readonly Line[] =>
  texts.map((text, at): Line => [at === 0 ? label : "", text]);

function fileLines({ files }: Details): readonly Line[] {
  const { fragment, drop_ins: dropIns, needs_reload: isStale } = files;
  const paths = [fragment, ...dropIns].flatMap((file) => file?.path ?? []);
  return [
    ...several("files", paths),
    ...(isStale ? [["", "changed on disk: systemctl daemon-reload has systemd read them", "yellow"] as const] : []),
  ];
}

function trouble(details: Details): readonly Line[] {
  const { result, last_run: run, active_state: state, load_error: error, unmet_conditions: unmet } = details;
  const how = run.exit === "" ? "" : ` (${run.exit})`;
  return [
    ...(state === "failed" || isFailed(result) ? [["failure", `${result}${how}`, "red"] as const] : []),
    ...(error === "" ? [] : [["error", error, "red"] as const]),
    ...(unmet.length === 0 ? [] : [["condition", `not met: ${unmet.join(", ")}`, "yellow"] as const]),
  ];
}

function linesOf(details: Details, now: number): readonly Line[] {
  const { listening, security, runs, last_run: lastRun, processes, dependencies } = details;
  const usage = usageTexts(details);
  const shownRuns = (runs === null || runs.length === 0 ? [lastRun] : runs).filter(
    ({ started_at }) => started_at !== null,
  );
  const start = details.commands.filter(({ setting }) => setting === "ExecStart").map(({ command }) => command);
  const needs = [...dependencies.requires, ...dependencies.binds_to].filter((name) => !/\.(target|slice)$/.test(name));
  const neededBy = [...dependencies.required_by, ...dependencies.bound_by, ...dependencies.wanted_by];
  return [
    ["state", stateText(details, now), stateStyle(details.active_state)],
    ...trouble(details),
    ...(details.status_text === "" ? [] : [["says", details.status_text] as const]),
    ["boot", bootText(details)],
    ...(usage.length === 0 ? [] : [["uses", usage.join(", ")] as const]),
    ["runs as", details.user === "" ? "root" : details.user],
    ...several("command", start),
    ...several(
      "processes",
      processes.length > 1 ? processes.slice(0, mostProcesses).map(({ pid, command }) => `${pid} ${command}`) : [],
    ),
    ...(listening === null || listening.length === 0
      ? []
      : [
          [
            "listens",
            listening
              .map(
                ({ protocol, address, port }) =>
                  `${protocol} ${address.includes(":") ? `[${address}]` : address}:${port}`,
              )
              .join(", "),
          ] as const,
        ]),
    ...several(
      "started by",
      details.triggered_by.map((trigger) => triggerText(trigger, now)),
    ),
    ...(needs.length === 0 ? [] : [["needs", needs.join(", ")] as const]),
    ...(neededBy.length === 0 ? [] : [["needed by", neededBy.join(", ")] as const]),
    ...fileLines(details),
    ...(security === null
      ? []
      : [["exposure", `${security.exposure} of 10 (${security.level.toLowerCase()})`] as const]),
    ...(details.control.permitted ? [] : [["protected", details.control.reason, "yellow"] as const]),
    ...several(
      "runs",
      shownRuns.slice(0, mostRuns).map((run) => runText(run, now)),
    ),
  ];
}

function printDetails(io: Io, details: Details, now: number): void {
  const screen = screenOf(io);
  const columns = screen.columns() ?? Number.POSITIVE_INFINITY;
  const { name, description, logs, not_shown: notShown } = details;
  const head = fitText(oneLine(name), columns);
  const about = fitText(oneLine(description), columns - textWidth(head) - 2);
  io.out(`${paint(screen, "bold", head)}${about === "" ? "" : `  ${about}`}\n`);
  for (const [label, text, style] of linesOf(details, now)) {
    for (const [at, part] of wrapText(oneLine(text), columns - labelWidth - 2, mostLines).entries()) {
      const head = (at === 0 ? label : "").padStart(labelWidth);
      io.out(`${paint(screen, "dim", head)}  ${paint(screen, style, part)}\n`);
    }
  }
  const withheld = notShown.find(({ what }) => what === "logs");
  if (withheld !== undefined)
    io.out(`\n${oneLine(`${logs === null ? "no log" : "not all of the log"}: ${withheld.reason}`)}\n`);
  if (logs === null || logs.length === 0) return;
  io.out("\n");
  for (const entry of logs.slice(-mostEntries)) {
    const [line = ""] = formatEntry(entry, "short", plainScreen).split("\n");
    io.out(`${paint(screen, logStyle(entry), fitText(line, columns))}\n`);
  }
}

export function addServiceStatusCommand(services: Command, ports: CommandPorts): void {
  const { io, now } = ports;
  const status = services
    .command("status")
    .description("everything about a service: state, resources, what starts it, runs and the end of its log")
    .addArgument(namedArgument(serviceName.as, serviceName.about, serviceName.names))
    .notes(`With --json also the text of its files, all dependencies and limits.

Exit code: 0 it is active, or inactive without a failure, 1 it has failed, 2 the request failed, 4 there is no such unit.`);
  answerCommand(ports, status, {
    async ask(client, name: string) {
      try {
        return await client.getService({ params: { name }, query: { listening: true, security: true } });
      } catch (error) {
        if (!(error instanceof ApiError && error.code === "NOT_FOUND")) throw error;
        throw new UnknownUnit(`unknown unit ${serviceUnitName(name)} (steward services lists them)`, { cause: error });
      }
    },
    isTrouble: ({ active_state: state }) => state === "failed",
    print: (_, details) => printDetails(io, details, now()),
  });
}
