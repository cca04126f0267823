import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { machineRunsSystemd } from "./cgroups.ts";
import { type CommandOptions, type CommandResult, plainEnvironment, runCommand } from "./commands.ts";
import type { Disk } from "./disk.ts";
import { childrenOf, hasOwnNetwork, isInit } from "./processes.ts";
import { diskDevice, silentTimers } from "./recipe.ts";
import { killRun, type RunDirectory } from "./runs.ts";

export type Bind = { source: string; target: string; readOnly?: boolean };

type GuestOptions = {
  /** Whether the guest sees control groups of version 2 alone; as this machine has them unless said. */
  unifiedCgroups: boolean;
  privateNetwork: boolean;
  binds: readonly Bind[];
  /** Runs when the guest has its first process and nothing else yet. */
  onStart?: ((leader: number) => Promise<void>) | undefined;
};

export type ExecOptions = CommandOptions & { user?: string };

/** One boot of a guest, from power on to power off. */
export type Guest = {
  /** The number of the guest's first process, seen from outside. */
  leader: number;
  /** Settles when the guest is off. The container says "reboot" when the guest wants to be started again. */
  off: Promise<"power off" | "reboot">;
  exec(argv: readonly string[], options?: ExecOptions): Promise<CommandResult>;
  powerOff(): Promise<void>;
};

const bootTimeoutMs = 60_000;
const powerOffTimeoutMs = 20_000;
/** What systemd-nspawn exits with, under --keep-unit, when the guest asked for a reboot. */
const rebootExitCode = 133;

/** Starts the system on a mounted disk and waits until all of it runs. */
export async function startGuest(run: RunDirectory, disk: Disk, options: GuestOptions): Promise<Guest> {
  const output = openSync(run.console, "a");
  const launch = [fileURLToPath(new URL("./launch.ts", import.meta.url)), run.record, run.name];
  const container = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", ...launch, ...containerCommand(run, disk, options)],
    {
      env: {
        ...plainEnvironment,
        ...(options.unifiedCgroups && { SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: "1" }),
      },
      detached: true,
      stdio: ["ignore", output, output],
    },
  );
  closeSync(output);
  // A test that forgets its host still ends, and the host with it.
  container.unref();
  const { pid } = container;
  let isOff = false;
  const exited = once(container, "exit").then(([code]): "power off" | "reboot" => {
    isOff = true;
    return code === rebootExitCode ? "reboot" : "power off";
  });
  exited.catch(() => undefined);
  const deadline = performance.now() + bootTimeoutMs;

  async function until<T>(look: () => T | undefined | Promise<T | undefined>, goal: string): Promise<T> {
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      const reason = isOff
        ? "the container ended"
        : performance.now() > deadline
          ? `not after ${bootTimeoutMs} ms`
          : undefined;
      if (reason !== undefined)
        throw new Error(`cannot boot the test host: ${goal}: ${reason}. Its console:\n${readConsole(run)}`);
      await sleep(25);
    }
  }

  try {
    if (pid === undefined) await exited;
    const leader = await until(
      // It leaves the network of this machine some times after it has started.
      () => childrenOf(pid ?? 0).find((each) => isInit(each) && (!options.privateNetwork || hasOwnNetwork(each))),
      "its first process starts",
    );
    await options.onStart?.(leader);
    const exec = (argv: readonly string[], execOptions: ExecOptions = {}) => execIn(leader, argv, execOptions);
    const state = await until(async () => {
      const { stdout } = await exec(["systemctl", "is-system-running", "--wait"], { allowFailure: true });
      const word = stdout.trim();
      return ["running", "degraded", "maintenance", "stopping"].includes(word) ? word : undefined;
    }, "its system runs");
    if (state !== "running") {
      const { stdout } = await exec(["systemctl", "list-units", "--failed", "--plain", "--no-legend"], {
        allowFailure: true,
      });
      throw new Error(`cannot boot the test host: it is ${state}, failed units:\n${stdout}`);
    }
    return { leader, off: exited, exec, powerOff: () => powerOff(run, container, exited) };
  } catch (error) {
    killRun(run);
    throw error;
  }
}

/**
 * Runs a command in the namespaces of a guest. Entering those does not move it into a control group of the guest: it stays in that
 * of this process, and the guest's systemd counts it to no unit (use systemd-run inside where that matters).
 */
function execIn(leader: number, argv: readonly string[], options: ExecOptions): Promise<CommandResult> {
  const { user, env, ...rest } = options;
  const asUser = user === undefined ? [] : ["runuser", "-u", user, "--"];
  return runCommand(enterCommand(leader, [...asUser, ...argv]), { ...rest, env: { ...plainEnvironment, ...env } });
}

/** The words that, run on this machine, run `argv` inside the guest with this first process. */
export function enterCommand(leader: number, argv: readonly string[]): string[] {
  return ["nsenter", "-t", String(leader), "-m", "-u", "-i", "-n", "-p", "-C", "--", ...argv];
}

/** SIGTERM asks systemd-nspawn for an orderly shutdown of the system inside. */
async function powerOff(run: RunDirectory, container: ChildProcess, exited: Promise<unknown>): Promise<void> {
  container.ref();
  container.kill("SIGTERM");
  const inTime = await Promise.race([exited.then(() => true), sleep(powerOffTimeoutMs, false, { ref: false })]);
  if (!inTime) killRun(run);
  await exited;
}

function containerCommand(run: RunDirectory, disk: Disk, options: GuestOptions): string[] {
  const binds = [...options.binds, { source: disk.device, target: diskDevice }];
  const flags = binds.map(({ source, target, readOnly }: Bind) => {
    const paths = [source, target].map((path) => path.replaceAll(/[\\:]/g, "\\$&")).join(":");
    return `${readOnly === true ? "--bind-ro" : "--bind"}=${paths}`;
  });
  return [
    // Even if the process that started it is killed, a guest does not outlive it: it is asked to shut down.
    "setpriv",
    "--pdeathsig",
    "TERM",
    ...(machineRunsSystemd()
      ? ["systemd-run", "--quiet", "--scope", `--unit=${run.name}`, "--property=Delegate=yes"]
      : []),
    "systemd-nspawn",
    "--quiet",
    `--directory=${run.root}`,
    `--machine=${run.name}`,
    "--hostname=steward-testhost",
    "--register=no",
    // With it a reboot from inside ends the container instead of starting it again on the same mount.
    "--keep-unit",
    "--link-journal=no",
    // Lets the guest ask the kernel how right its clock is; without CAP_SYS_TIME it cannot set it.
    "--system-call-filter=adjtimex clock_adjtime",
    "--boot",
    "--console=pipe",
    ...(options.privateNetwork ? ["--private-network"] : []),
    ...flags,
    "--",
    ...silentTimers.map((unit) => `systemd.mask=${unit}`),
  ];
}

function readConsole(run: RunDirectory): string {
  return readFileSync(run.console, "utf8").slice(-4000);
}
