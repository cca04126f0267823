import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { tryStart } from "#domain/plugins/guarded-run.ts";
import { type PluginCall, type PluginEnd, PluginNotRun, type PluginSandbox } from "#domain/ports/plugins.ts";
import { formatBytes } from "#kernel/text.ts";
import { ended, endedFor, maxOutputBytes, signalExitCode } from "./plugin-process.ts";
import { boundsMemory, type CommandPlace, unitCommand } from "./unit-properties.ts";

const usualRunDirectory = "/run/steward-plugins";
const graceMs = 20_000;
const betweenStopsMs = 100;
const lastStops = 20;
const notLoaded = 5;
/** Ends that nobody came for are those of a service that was killed. */
const forgottenMs = 3_600_000;

function demandCommandFailure(error: unknown): CommandFailed {
  if (error instanceof CommandFailed) return error;
  throw error;
}

interface UnitEnd {
  readonly result: string;
  readonly how: string;
  readonly status: string;
}

function takeEnd(ends: string, unit: string): UnitEnd | undefined {
  const name = readdirSync(ends).find((each) => each.startsWith(`${unit}.`));
  if (name === undefined) return undefined;
  rmSync(join(ends, name), { force: true });
  const [result = "", how = "", status = ""] = name.slice(unit.length + 1).split(".");
  return { result, how, status };
}

function prepareEnds(ends: string): void {
  mkdirSync(ends, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(ends)) {
    const path = join(ends, name);
    const writtenAt = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - writtenAt > forgottenMs) rmSync(path, { force: true });
  }
}

const isSetupCode = (code: number): boolean => code >= 200 && code <= 245;

const withoutSandbox = (code: number): PluginNotRun =>
  new PluginNotRun(`its sandbox could not be made (systemd exit code ${code}; see journalctl -p notice -t systemd)`);

function notStarted({ exitCode, stderr }: CommandResult): PluginNotRun {
  const reported = /^Failed to .*$/m.exec(stderr)?.[0];
  if (reported !== undefined) return new PluginNotRun(`systemd did not start it: ${reported}`);
  return isSetupCode(exitCode) ? withoutSandbox(exitCode) : new PluginNotRun("systemd did not say how it ended");
}

export interface NotEnded {
  readonly plugin: string;
  readonly unit: string;
  readonly error: unknown;
  /** Whether it is asked again; reported once. Otherwise the plugin may continue until systemd ends it in its own time. */
  readonly isTriedAgain: boolean;
}

interface UnitPorts {
  readonly exec: Exec;
  readonly hidden: readonly string[];
  readonly partOf: string | undefined;
  readonly filtersAddresses: () => Promise<boolean>;
  readonly onNotEnded: (trouble: NotEnded) => void;
  readonly runDirectory?: string;
  /** Between two attempts to stop a unit. */
  readonly pause?: () => Promise<unknown>;
}

interface UnitHost extends Pick<UnitPorts, "exec" | "filtersAddresses" | "onNotEnded"> {
  readonly pause: () => Promise<unknown>;
  readonly place: CommandPlace;
}

async function stopUnit(exec: Exec, unit: string): Promise<void> {
  const argv = ["systemctl", "stop", "--no-ask-password", "--", `${unit}.service`] as const;
  const { exitCode, stderr } = await exec(argv, { timeoutMs: graceMs });
  if (exitCode === 0 || exitCode === notLoaded) return;
  throw new CommandFailed(`cannot stop ${unit}: systemctl ended with exit code ${exitCode}: ${stderr.trim()}`);
}

/** Stops the unit until nobody waits for it: the first attempt may come too early, or be killed with the service. */
async function endUnit(
  { exec, onNotEnded, pause }: UnitHost,
  { plugin, unit }: Pick<NotEnded, "plugin" | "unit">,
  isOver: () => boolean,
): Promise<void> {
  let left = lastStops;
  for (let isLast = isOver(), isReported = false; ; isLast = isOver()) {
    try {
      await stopUnit(exec, unit);
      if (isLast) return;
    } catch (error) {
      if (isLast) left -= 1;
      const isTriedAgain = left > 0;
      if (!isReported || !isTriedAgain) onNotEnded({ plugin, unit, error, isTriedAgain });
      isReported = true;
      if (!isTriedAgain) throw new PluginNotRun(`it could not be ended: ${String(error)}`, { cause: error });
    }
    await pause();
  }
}

function toEnd({ manifest }: PluginCall, end: UnitEnd, result: CommandResult): PluginEnd {
  if (end.result === "oom-kill") {
    throw new PluginNotRun(
      `it was killed: it exceeded its memory limit of ${formatBytes(manifest.permissions.memoryBytes)}`,
    );
  }
  if (end.how !== "exited") return ended(signalExitCode(`SIG${end.status}`), result);
  const code = Number(end.status);
  if (isSetupCode(code) && result.stdout === "" && result.stderr === "") throw withoutSandbox(code);
  return ended(code, result);
}

async function runUnit(host: UnitHost, call: PluginCall, signal: AbortSignal): Promise<PluginEnd> {
  const { exec, filtersAddresses, place } = host;
  const { manifest, stdin } = call;
  if (signal.aborted) throw endedFor(call, false);
  if (manifest.permissions.network === "local" && !(await filtersAddresses())) {
    throw new PluginNotRun(
      "systemd cannot keep it to loopback on this host (it has no firewall for units), so it is not run (ask for network: none or full)",
    );
  }
  prepareEnds(place.ends);
  const unit = `steward-plugin-${manifest.name}-${randomBytes(4).toString("hex")}`;
  const late = AbortSignal.timeout(manifest.timeoutMs);
  const over = AbortSignal.any([signal, late]);
  const argv = unitCommand(unit, call, place);
  const timeoutMs = manifest.timeoutMs + graceMs;
  let isOver = false;
  let ending: Promise<void> | undefined;
  const end = (): Promise<void> => {
    ending ??= endUnit(host, { plugin: manifest.name, unit }, () => isOver);
    return ending;
  };
  const onOver = (): void => void end().catch(() => undefined);
  over.addEventListener("abort", onOver, { once: true });
  if (over.aborted) onOver();
  const outcome = await exec(argv, { timeoutMs, maxOutputBytes, ...(stdin !== undefined && { input: stdin }) })
    .catch(demandCommandFailure)
    .finally(() => {
      isOver = true;
      over.removeEventListener("abort", onOver);
    });
  const isCutShort = ending !== undefined;
  const unitEnd = takeEnd(place.ends, unit);
  if (!isCutShort && unitEnd !== undefined && !(outcome instanceof CommandFailed)) return toEnd(call, unitEnd, outcome);
  await end();
  takeEnd(place.ends, unit);
  if (isCutShort) throw endedFor(call, !signal.aborted, outcome instanceof CommandFailed ? outcome.output : outcome);
  if (!(outcome instanceof CommandFailed)) throw notStarted(outcome);
  throw new PluginNotRun(`it could not be run: ${outcome.message}`, { cause: outcome });
}

export function createUnitSandbox(ports: UnitPorts): PluginSandbox {
  const { hidden, partOf, runDirectory = usualRunDirectory, pause = () => sleep(betweenStopsMs) } = ports;
  const place = { ends: join(runDirectory, "ends"), hidden, partOf, boundsMemory: boundsMemory() };
  const runInUnit: PluginSandbox["run"] = (call, signal) => runUnit({ ...ports, pause, place }, call, signal);
  return {
    description: [
      "Each plugin runs in a systemd unit of its own, as a user that exists only while it runs:",
      "it writes only to a directory of 64 MiB that is removed when it ends, reads what every user may read, has no network, no devices and no capabilities,",
      "and all processes that it started are killed when it ends.",
      place.boundsMemory
        ? "Its memory and its processes are bounded."
        : "Its processes are bounded; its memory only for each process by itself, since this host has no memory controller.",
      "A plugin that runs as root is limited in time, and in nothing else.",
    ].join(" "),
    run: runInUnit,
    tryStart: (call, signal) => tryStart(runInUnit, call, signal),
  };
}
