import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Bind, type ExecOptions, enterCommand, type Guest, startGuest } from "./boot.ts";
import { type CommandResult, type Log, noLog, runCommand } from "./commands.ts";
import { mountDisk, unmountDisk } from "./disk.ts";
import { moveToExt4 } from "./ext4.ts";
import { readGuestFile, writeGuestFile } from "./files.ts";
import { cacheDirectory, ensureImage } from "./image.ts";
import { defaultSuite, recipeOf, type Suite } from "./recipe.ts";
import { createRunDirectory, killRun, type RunDirectory, removeRunDirectory, sweepRuns } from "./runs.ts";
import { type RunningService, type ServiceOptions, startService } from "./service.ts";

export type HostOptions = {
  /** The Debian that it is; `defaultSuite()` unless given. */
  suite?: Suite;
  /** A network of its own with nothing but a loopback device, instead of the machine's: ports cannot clash. */
  privateNetwork?: boolean;
  bind?: readonly Bind[];
  /** What its system is on: `btrfs`, with snapper, unless given. The move takes some seconds. */
  fileSystem?: "btrfs" | "ext4";
  /** Runs at the start of each boot, with the number of the first process: for a network that services find when they start. */
  onStart?: (leader: number) => Promise<void>;
  /** Runs after each boot, the first one and those that reboots lead to, before anybody else can use the guest. */
  onBoot?: (guest: BootedGuest) => Promise<void>;
  log?: Log;
};

/** What of a guest that has just booted may be used. */
export type BootedGuest = {
  /** The number of its first process, seen from outside: whose namespaces are its own. */
  readonly leader: number;
  /** A directory of this machine that goes with the host. */
  readonly directory: string;
  exec(argv: readonly string[], options?: ExecOptions): Promise<CommandResult>;
};

/** A running Debian with systemd that belongs to one test. Changes to it are gone with it. */
export type Host = {
  /** Runs a command inside as root, or as `user`; throws unless it exits with 0 (see `allowFailure`) within `timeoutMs` (100 seconds). */
  exec(argv: readonly string[], options?: ExecOptions): Promise<CommandResult>;
  /** The words that, run on this machine, run `argv` inside; for a shell on a terminal. They hold until the next reboot. */
  enter(argv: readonly string[]): Promise<readonly string[]>;
  /** The guest's root file system, seen from outside: without what the guest itself mounts (/run, /tmp, /proc, binds). */
  readonly root: string;
  /** Where a program on this machine reaches the system bus inside. It holds until the next reboot. */
  busSocket(): Promise<string>;
  /** Reads a file inside, wherever it is mounted; symbolic links lead where they lead for the guest. */
  readFile(path: string): Promise<string>;
  /** Writes a file inside and makes the directories it needs. */
  writeFile(path: string, content: string, mode?: number): Promise<void>;
  /** Installs the service from the checkout as steward.service, starts it and waits until it listens. */
  startService(options?: ServiceOptions): Promise<RunningService>;
  /** Shuts down, mounts what is the default subvolume now and boots again. */
  reboot(): Promise<void>;
  /** Ends every process at once, and boots. */
  losePower(): Promise<void>;
  /** The next time the guest is up after a reboot from inside. Call it first, then reboot, then await what it returned. */
  nextBoot(timeoutMs?: number): Promise<void>;
  /** Ends all that runs in it and removes everything. Doing it twice is fine. */
  stop(): Promise<void>;
};

const checkout = fileURLToPath(new URL("../..", import.meta.url));

/** Boots a fresh copy of the test host. The caller stops it; the end of the process does, too. */
export async function bootHost(options: HostOptions = {}): Promise<Host> {
  const log = options.log ?? noLog;
  const suite = options.suite ?? defaultSuite();
  const image = await ensureImage(suite, log);
  sweepRuns(cacheDirectory(), log);
  const run = createRunDirectory(cacheDirectory());
  try {
    const startedAt = performance.now();
    await runCommand(["cp", "--sparse=always", "--reflink=auto", image, run.image]);
    // Two file systems with the same identity cannot be mounted at the same time.
    await runCommand(["btrfstune", "-f", "-m", run.image]);
    if (options.fileSystem === "ext4") await moveToExt4(run, recipeOf(suite).sizeBytes);
    const copiedAt = performance.now();
    const host = await runHost(run, options);
    log(
      `copied the test host in ${Math.round(copiedAt - startedAt)} ms, booted it in ${Math.round(performance.now() - copiedAt)} ms`,
    );
    return host;
  } catch (error) {
    await removeRunDirectory(run);
    throw error;
  }
}

async function runHost(run: RunDirectory, options: HostOptions): Promise<Host> {
  const binds: Bind[] = [{ source: checkout, target: "/opt/steward", readOnly: true }, ...(options.bind ?? [])];
  const waiting = new Set<(guest: Promise<Guest>) => void>();
  let isStopped = false;
  let stopping: Promise<void> | undefined;
  let current = boot();

  async function boot(): Promise<Guest> {
    const disk = await mountDisk(run.image, run.root);
    const guest = await startGuest(run, disk, {
      privateNetwork: options.privateNetwork ?? false,
      // From version 258 on systemd boots with version 2 alone.
      unifiedCgroups: (options.suite ?? defaultSuite()) === "sid",
      binds,
      onStart: options.onStart,
    });
    await options.onBoot?.({ leader: guest.leader, directory: run.path, exec: (argv, how) => guest.exec(argv, how) });
    // The mount must be rebuilt for a reboot from inside as well, or a changed default subvolume would not count.
    void guest.off.then((reason) => {
      if (reason === "reboot" && !isStopped) restart();
    });
    return guest;
  }

  function restart(): void {
    current = unmountDisk(run.root).then(boot);
    current.catch(() => undefined);
    for (const resolve of waiting) resolve(current);
    waiting.clear();
  }

  async function exec(argv: readonly string[], execOptions?: ExecOptions): Promise<CommandResult> {
    return (await current).exec(argv, execOptions);
  }

  const access: Pick<Host, "exec" | "readFile" | "writeFile"> = {
    exec,
    readFile: async (path) => readGuestFile(`/proc/${(await current).leader}/root`, path),
    writeFile: async (path, content, mode) =>
      writeGuestFile(`/proc/${(await current).leader}/root`, path, content, mode),
  };

  await current;
  return {
    ...access,
    enter: async (argv) => enterCommand((await current).leader, argv),
    busSocket: async () => `/proc/${(await current).leader}/root/run/dbus/system_bus_socket`,
    root: run.root,
    startService: (serviceOptions = {}) => startService(access, serviceOptions),
    reboot: async () => {
      await (await current).powerOff();
      restart();
      await current;
    },
    losePower: async () => {
      const guest = await current;
      killRun(run);
      await guest.off;
      restart();
      await current;
    },
    nextBoot: async (timeoutMs = 60_000) => {
      const next = new Promise<Guest>((resolve) => waiting.add(resolve));
      const timer = new AbortController();
      const late = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
        throw new Error(`cannot wait for the reboot of the test host: it has not rebooted after ${timeoutMs} ms`);
      });
      await Promise.race([next, late]).finally(() => timer.abort());
    },
    stop: () => {
      isStopped = true;
      // Nothing of it is kept, so nothing in it is shut down.
      stopping ??= current.catch(() => undefined).then(() => removeRunDirectory(run));
      return stopping;
    },
  };
}
