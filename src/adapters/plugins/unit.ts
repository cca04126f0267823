import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { escapeArgument } from "#adapters/exec/units.ts";
import type { PluginCall, PluginEnd, PluginSandbox } from "#domain/plugins/ports.ts";
import { PluginNotRun } from "#domain/plugins/ports.ts";
import { tryStart } from "#domain/plugins/start-trial.ts";
import { formatBytes } from "#kernel/text.ts";
import { isPlain } from "./paths.ts";
import { whatLeadsElsewhere } from "./trust.ts";
import { unitProperties, workFolderOf } from "./unit-properties.ts";
import { ended, endedFor, environmentOf, maxOutputBytes, signalExitCode } from "./words.ts";

const usualRunFolder = "/run/steward-plugins";
/** How long after its time the unit of a plugin may take to be gone. */
const graceMs = 20_000;
const betweenStopsMs = 100;
/** How often systemd is asked in vain to end what should be gone already. */
const lastStops = 20;
/** Exit code of `systemctl stop` for a unit that is not there. */
const notLoaded = 5;
/** Ends that nobody came for are those of a service that was killed. */
const forgottenMs = 3_600_000;

function failureOf(error: unknown): CommandFailed {
  if (error instanceof CommandFailed) return error;
  throw error;
}

/** How a unit ended, as systemd tells it: `signal`, `killed`, `KILL`. */
interface UnitEnd {
  readonly result: string;
  readonly how: string;
  readonly status: string;
}

/** Takes what was told of the end of a unit; undefined where it never began. */
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

/** Folders that a plugin with a capability to read is kept from; those with programs are left, and what the kernel shows. */
const leftInSight = /^\/(usr|bin|sbin|lib(32|64|x32)?|nix|gnu|proc|sys|dev|run|tmp|home|root)$/;

function topEntries(): { readonly topFolders: readonly string[]; readonly topFiles: readonly string[] } {
  const entries = readdirSync("/", { withFileTypes: true });
  const pathsOf = (kept: typeof entries): readonly string[] => kept.map(({ name }) => `/${name}`);
  return {
    topFolders: pathsOf(entries.filter((each) => each.isDirectory())).filter((path) => !leftInSight.test(path)),
    topFiles: pathsOf(entries.filter((each) => !each.isDirectory() && !each.isSymbolicLink())),
  };
}

function boundsMemory(): boolean {
  try {
    return readFileSync("/sys/fs/cgroup/cgroup.controllers", "utf8").split(/\s+/).includes("memory");
  } catch {
    // An older hierarchy, of which systemd may have the memory or not.
    return false;
  }
}

/** Exit codes by which systemd says that it could not make what the program was to run in. */
const isSetupCode = (code: number): boolean => code >= 200 && code <= 245;

const withoutSandbox = (code: number): PluginNotRun =>
  new PluginNotRun(`its sandbox could not be made (systemd exit code ${code}; see journalctl -p notice -t systemd)`);

/** What systemd itself said of a unit that never began. */
function notBegun({ exitCode, stderr }: CommandResult): PluginNotRun {
  const told = /^Failed to .*$/m.exec(stderr)?.[0];
  if (told !== undefined) return new PluginNotRun(`systemd did not start it: ${told}`);
  return isSetupCode(exitCode) ? withoutSandbox(exitCode) : new PluginNotRun("systemd did not tell how it ended");
}

/** The unit of a plugin that systemd was asked to end, and that did not end. */
export interface NotEnded {
  readonly plugin: string;
  readonly unit: string;
  readonly error: unknown;
  /** Whether it is asked again; told once. Else the plugin may go on until systemd ends it in its own time. */
  readonly isTriedAgain: boolean;
}

/** Runs plugins in systemd units of their own, each with a user that exists as long as it runs. */
export function createUnitSandbox(ports: {
  readonly exec: Exec;
  /** Folders that no plugin may see. */
  readonly hidden: readonly string[];
  /** The unit whose stop is that of the plugins too, also where nobody is left to end them. */
  readonly partOf: string | undefined;
  /** Whether a unit can be kept to loopback on this host. */
  readonly filtersAddresses: () => Promise<boolean>;
  readonly onNotEnded: (trouble: NotEnded) => void;
  /** Gone with the next boot, as the units are. */
  readonly runFolder?: string;
}): PluginSandbox {
  const { exec, hidden, partOf, filtersAddresses, onNotEnded, runFolder = usualRunFolder } = ports;
  const ends = join(runFolder, "ends");
  const hasMemory = boundsMemory();

  const stop = async (unit: string): Promise<void> => {
    const argv = ["systemctl", "stop", "--no-ask-password", "--", `${unit}.service`] as const;
    const { exitCode, stderr } = await exec(argv, { timeoutMs: graceMs });
    if (exitCode === 0 || exitCode === notLoaded) return;
    throw new CommandFailed(`cannot stop ${unit}: systemctl ended with exit code ${exitCode}: ${stderr.trim()}`);
  };

  /**
   * Ends the unit again and again until nobody waits for it any more: the first time may come before there is a unit, and when
   * the service is stopped, systemd ends all programs of the service, those that are to end a plugin too.
   * @throws PluginNotRun when it may still be there.
   */
  const endUnit = async (plugin: string, unit: string, isOver: () => boolean): Promise<void> => {
    let left = lastStops;
    for (let isLast = isOver(), isTold = false; ; isLast = isOver()) {
      try {
        await stop(unit);
        if (isLast) return;
      } catch (error) {
        if (isLast) left -= 1;
        const isTriedAgain = left > 0;
        if (!isTold || !isTriedAgain) onNotEnded({ plugin, unit, error, isTriedAgain });
        isTold = true;
        if (!isTriedAgain) throw new PluginNotRun(`it could not be ended: ${String(error)}`, { cause: error });
      }
      await sleep(betweenStopsMs);
    }
  };

  const requirePlain = (paths: readonly string[]): void => {
    const odd = paths.find((path) => !isPlain(path));
    if (odd === undefined) return;
    throw new PluginNotRun(
      `${JSON.stringify(odd)} cannot be kept from it: its name has other characters than A-Z a-z 0-9 . _ @ + , ~ -`,
    );
  };

  /** A link in the place of what was asked for would open something else, with rights that nobody else has. */
  const requireFixed = (paths: readonly string[]): void => {
    for (const path of paths) {
      const reason = whatLeadsElsewhere(path);
      if (reason !== undefined) throw new PluginNotRun(`it asks for ${path}, and ${reason}`);
    }
  };

  const command = (unit: string, call: PluginCall): readonly [string, ...string[]] => {
    const { user, read, write } = call.manifest.permissions;
    const hasView = user !== "root" && read.length + write.length > 0;
    const top = topEntries();
    requirePlain([...hidden, call.path, ...(hasView ? [...top.topFolders, ...top.topFiles] : [])]);
    if (hasView) requireFixed([...read, ...write]);
    const place = { ends, hidden, boundsMemory: hasMemory, ...top };
    return [
      "systemd-run",
      "--pipe",
      "--wait",
      "--collect",
      "--quiet",
      "--no-ask-password",
      "--service-type=exec",
      `--unit=${unit}`,
      `--description=Steward plugin ${call.manifest.name}`,
      ...unitProperties(unit, call, place).map((property) => `--property=${property}`),
      ...(partOf === undefined ? [] : [`--property=PartOf=${partOf}`]),
      "--",
      "/usr/bin/env",
      "-i",
      ...environmentOf(call, workFolderOf(call)),
      ...[...call.manifest.command, ...call.args].map(escapeArgument),
    ];
  };

  const toEnd = ({ manifest }: PluginCall, end: UnitEnd, result: CommandResult): PluginEnd => {
    if (end.result === "oom-kill") {
      throw new PluginNotRun(
        `it was ended: it took more than the ${formatBytes(manifest.permissions.memoryBytes)} of memory that it has`,
      );
    }
    if (end.how !== "exited") return ended(signalExitCode(`SIG${end.status}`), result);
    const code = Number(end.status);
    if (isSetupCode(code) && result.stdout === "" && result.stderr === "") throw withoutSandbox(code);
    return ended(code, result);
  };

  const run = async (call: PluginCall, signal: AbortSignal): Promise<PluginEnd> => {
    const { manifest, stdin } = call;
    if (signal.aborted) throw endedFor(call, false);
    if (manifest.permissions.network === "local" && !(await filtersAddresses())) {
      throw new PluginNotRun(
        "systemd cannot keep it to loopback on this host (it has no firewall for units), so it is not run (ask for network: none or full)",
      );
    }
    prepareEnds(ends);
    const unit = `steward-plugin-${manifest.name}-${randomBytes(4).toString("hex")}`;
    const late = AbortSignal.timeout(manifest.timeoutMs);
    const over = AbortSignal.any([signal, late]);
    const argv = command(unit, call);
    const timeoutMs = manifest.timeoutMs + graceMs;
    let isOver = false;
    let ending: Promise<void> | undefined;
    const end = (): Promise<void> => {
      ending ??= endUnit(manifest.name, unit, () => isOver);
      return ending;
    };
    // What is thrown is waited for below, and told at once.
    const onOver = (): void => void end().catch(() => undefined);
    over.addEventListener("abort", onOver, { once: true });
    if (over.aborted) onOver();
    const outcome = await exec(argv, { timeoutMs, maxOutputBytes, ...(stdin !== undefined && { input: stdin }) })
      .catch(failureOf)
      .finally(() => {
        isOver = true;
        over.removeEventListener("abort", onOver);
      });
    const isCutShort = ending !== undefined;
    const unitEnd = takeEnd(ends, unit);
    if (!isCutShort && unitEnd !== undefined && !(outcome instanceof CommandFailed))
      return toEnd(call, unitEnd, outcome);
    // Who waits for a unit may be gone before the unit is.
    await end();
    takeEnd(ends, unit);
    if (isCutShort) throw endedFor(call, !signal.aborted, outcome instanceof CommandFailed ? outcome.output : outcome);
    if (!(outcome instanceof CommandFailed)) throw notBegun(outcome);
    throw new PluginNotRun(`it could not be run: ${outcome.message}`, { cause: outcome });
  };

  return {
    description: [
      "Each plugin runs in a systemd unit of its own, as a user that exists only while it runs:",
      "it changes no file but in a folder of 64 MiB that is gone when it ends, reads what everybody may read, has no network, no devices and no capabilities,",
      "and ends with all that it started.",
      hasMemory
        ? "Its memory and its processes are bounded."
        : "Its processes are bounded; its memory only for each process by itself, since this host has no memory controller.",
      "A plugin that runs as root is bounded in time and contained in nothing else.",
    ].join(" "),
    run,
    tryStart: (call, signal) => tryStart(run, call, signal),
  };
}
