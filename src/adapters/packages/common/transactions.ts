import { existsSync } from "node:fs";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import { PackagesLocked, type TransactionResult, TransactionUnseen } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { following } from "./follow.ts";
import type { LockHolder, LockTable } from "./locks.ts";
import { type Argv, hostPlaces, type OnLine, type PackagePorts } from "./ports.ts";

export interface Transaction {
  /** Name of its systemd unit, without `.service`. */
  readonly unit: string;
  readonly description: string;
  readonly argv: Argv;
  readonly locks: readonly string[];
  readonly before?: () => Promise<void>;
  /** Run when it is over, however it ended, in the same unit. They may fail. */
  readonly afterwards?: readonly Argv[];
  readonly onLine?: OnLine;
  /** How long its end is waited for; half an hour unless given. It continues by itself. */
  readonly timeoutMs?: number;
  /** Whether it may be cut off when the host goes down, as what only downloads may; otherwise that waits for its end. */
  readonly isInterruptible?: boolean;
  readonly failureReason?: OutputReader["failureReason"];
}

export class TransactionFailed extends CommandFailed {}

export class LockHeld extends CommandFailed {
  readonly holder: LockHolder | undefined;

  constructor(message: string, holder: LockHolder | undefined) {
    super(message);
    this.holder = holder;
  }
}

/** The whole environment: nobody is there to answer, settings of the administrator stay, and nothing else is restarted. */
const environment = [
  "-i",
  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  "HOME=/root",
  "LC_ALL=C.UTF-8",
  "DEBIAN_FRONTEND=noninteractive",
  "UCF_FORCE_CONFFOLD=1",
  "APT_LISTCHANGES_FRONTEND=none",
  "APT_LISTBUGS_FRONTEND=none",
  "NEEDRESTART_SUSPEND=1",
] as const;

const defaultLockWaitMs = 60_000;
const betweenLooksMs = 1_000;
const betweenQuestionsMs = 200;
/** Half a minute without an answer of systemd. */
const toleratedFailures = 150;
const usualMs = 30 * 60_000;
/** A long upgrade on a slow disk; it continues by itself after that. */
export const longestMs = 6 * 60 * 60_000;
const keptOutputBytes = 64 * 1024;

/** On shutdown the unit is stopped with a harmless signal, and systemd waits for the package manager and its scripts. */
const runsToCompletion = [
  "KillMode=process",
  "KillSignal=SIGCONT",
  "TimeoutStopSec=15min",
  "OOMPolicy=continue",
  "After=network.target remote-fs.target dbus.service",
] as const;

export interface OutputReader {
  readonly failureReason: (text: string, exitCode: number) => string;
  /** Who holds the lock that it did not get; undefined where that is not why it failed. */
  readonly parseLockConflict: (text: string) => { readonly pid: number | undefined } | undefined;
}

interface InTheWay {
  readonly what: string;
  readonly holder?: LockHolder;
}

const blamed = (holder: LockHolder): InTheWay => ({ what: `${holder.program} (process ${holder.pid})`, holder });

interface Ended {
  readonly exitCode: number;
  readonly output: string;
  readonly killedBy?: string;
}

export const parseKill = (text: string): string | undefined =>
  /^Main processes terminated with: code=(?:killed|dumped)\W+status=(?:\d+\/)?([A-Z][A-Z0-9]*)/m.exec(text)?.[1];

/** Whether systemd-run ended before the main process of its unit, which it then may call a success: systemd went down. */
const isCutOff = (text: string): boolean =>
  !/^Finished with result: (?!success$)/m.test(text) && !/^Main processes terminated with: /m.test(text);

const keptLogs = 20;

async function removeOldLogs(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".log"));
  const logs = await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name);
      return { path, writtenAtMs: (await orUndefined(stat(path)))?.mtimeMs ?? 0 };
    }),
  );
  const old = logs.sort((one, other) => other.writtenAtMs - one.writtenAtMs).slice(keptLogs - 1);
  for (const { path } of old) await rm(path, { force: true });
}

async function tailOf(path: string): Promise<string> {
  const file = await orUndefined(open(path));
  if (file === undefined) return "";
  try {
    const { size } = await file.stat();
    const length = Math.min(size, keptOutputBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead).toString("utf8");
  } finally {
    await file.close();
  }
}

type Asked = "over" | "at work" | { readonly trouble: string };

async function askFor(exec: PackagePorts["exec"], unit: string, signal: AbortSignal): Promise<Asked> {
  const question = ["show", "--property=ActiveState", "--value", "--", `${unit}.service`] as const;
  const { exitCode, stdout, stderr } = await exec(["/usr/bin/systemctl", ...question], { signal });
  if (exitCode !== 0) return { trouble: stderr.trim() };
  return /^(active|activating|deactivating|reloading)$/.test(stdout.trim()) ? "at work" : "over";
}

/** Waits until the unit is over, also while systemd does not answer for some time. */
export async function settle(
  {
    exec,
    clock,
    places = hostPlaces,
  }: Pick<PackagePorts, "exec"> & {
    readonly clock: Pick<PackagePorts["clock"], "sleep">;
    readonly places?: Pick<typeof hostPlaces, "booted">;
  },
  unit: string,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; existsSync(places.booted); ) {
    signal.throwIfAborted();
    const state = await askFor(exec, unit, signal);
    if (state === "over") return;
    if (state !== "at work") {
      failures += 1;
      if (failures > toleratedFailures) throw new CommandFailed(`cannot ask for ${unit}.service: ${state.trouble}`);
    }
    await clock.sleep(betweenQuestionsMs, signal);
  }
}

export type Transact = (transaction: Transaction, signal: AbortSignal) => Promise<string>;

/** Runs each transaction in a systemd unit, which survives the end of the service. Waits for held locks, never removes them. */
export function createTransactions(
  ports: PackagePorts & { readonly locks: LockTable; readonly reader: OutputReader },
): Transact {
  const { exec, clock, locks, reader, lockWaitMs = defaultLockWaitMs, places = hostPlaces } = ports;

  const asUnit = async (transaction: Transaction, signal: AbortSignal): Promise<Ended> => {
    const { unit, description, argv, afterwards = [], onLine, timeoutMs = usualMs } = transaction;
    const { isInterruptible = false } = transaction;
    await mkdir(places.output, { recursive: true, mode: 0o700 });
    const path = join(places.output, `${unit}.log`);
    await rm(path, { force: true });
    await removeOldLogs(places.output);
    const options = ["--wait", "--collect", "--no-ask-password", `--unit=${unit}`, `--description=${description}`];
    const outputs = [`--property=StandardOutput=append:${path}`, "--property=StandardError=inherit"];
    // Systemd splits them into words again; theirs are names and options without anything that it would take for more.
    const later = afterwards.map((words) => `--property=ExecStopPost=-${words.join(" ")}`);
    const stopping = isInterruptible ? [] : runsToCompletion.map((property) => `--property=${property}`);
    const command = ["/usr/bin/env", ...environment, ...argv];
    try {
      const { exitCode, stderr } = await following(path, onLine, clock, () =>
        exec(["/usr/bin/systemd-run", ...options, ...outputs, ...stopping, ...later, "--", ...command], {
          signal,
          timeoutMs,
        }),
      );
      const isStarted = /^Running as unit: /m.test(stderr);
      // What runs after the main process may be at work still.
      if (isStarted && (isCutOff(stderr) || (await askFor(exec, unit, signal)) !== "over"))
        throw new TransactionUnseen(`systemd did not say how ${unit}.service ended`);
      const output = await tailOf(path);
      const killedBy = parseKill(stderr);
      if (killedBy !== undefined) return { exitCode, output, killedBy };
      return { exitCode, output: isStarted || output !== "" || exitCode === 0 ? output : stderr };
    } catch (error) {
      if (!(error instanceof CommandFailed) || error.cause !== undefined) throw error;
      throw new CommandFailed(`${error.message}; ${unit}.service continues by itself (see systemctl status ${unit})`, {
        cause: error,
      });
    }
  };

  /** Without systemd. The signal is not passed on: to kill dpkg half-way would do more harm than to let it end. */
  const directly = async (transaction: Transaction): Promise<Ended> => {
    const { argv, afterwards = [], onLine, timeoutMs = usualMs } = transaction;
    const { exitCode, stdout, stderr } = await exec(["/usr/bin/env", ...environment, ...argv], { timeoutMs });
    for (const words of afterwards) await exec(words);
    if (onLine !== undefined) for (const line of `${stdout}${stderr}`.trimEnd().split("\n")) onLine(line);
    return { exitCode, output: `${stdout}\n${stderr}`.slice(-keptOutputBytes) };
  };

  const firstHolder = async (paths: readonly string[]): Promise<LockHolder | undefined> => {
    for (const path of paths) {
      const holder = await locks.holder(path);
      if (holder !== undefined) return holder;
    }
    return undefined;
  };

  const conflictOf = async ({ exitCode, output }: Ended): Promise<InTheWay | undefined> => {
    if (exitCode === 0) return undefined;
    if (/was already loaded or has a fragment file/.test(output)) return { what: "an earlier run that has not ended" };
    const conflict = reader.parseLockConflict(output);
    if (conflict === undefined) return undefined;
    const { pid } = conflict;
    return pid === undefined ? { what: "another process" } : blamed({ pid, program: await locks.program(pid) });
  };

  return async (transaction, signal) => {
    const startedAtMs = clock.monotonicMs();
    for (;;) {
      signal.throwIfAborted();
      const holder = await firstHolder(transaction.locks);
      let inTheWay = holder && blamed(holder);
      if (inTheWay === undefined) {
        await transaction.before?.();
        const ended = existsSync(places.booted) ? await asUnit(transaction, signal) : await directly(transaction);
        if (ended.exitCode === 0) return ended.output;
        if (ended.killedBy !== undefined) throw new TransactionFailed(`it was ended by SIG${ended.killedBy}`);
        inTheWay = await conflictOf(ended);
        const { failureReason: reasonOf = reader.failureReason } = transaction;
        if (inTheWay === undefined) throw new TransactionFailed(reasonOf(ended.output, ended.exitCode));
      }
      const waitedMs = clock.monotonicMs() - startedAtMs;
      if (waitedMs >= lockWaitMs) {
        const seconds = Math.round(lockWaitMs / 1000);
        throw new LockHeld(
          `${inTheWay.what} holds the lock of the package manager, and did so for the ${seconds} s that were waited`,
          inTheWay.holder,
        );
      }
      await clock.sleep(Math.min(betweenLooksMs, lockWaitMs), signal);
    }
  };
}

export function unitFor(id: string): string {
  if (!/^[0-9A-Za-z-]{1,100}$/.test(id))
    throw new Error(`cannot use ${JSON.stringify(id)} as the name of a transaction`);
  return `steward-packages-${id}`;
}

export async function orLocked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
    throw new PackagesLocked(error.message, error.holder);
  }
}

/** Does the work; that packages or apt fail is an answer, that they could not be asked is an error. */
export async function asResult<T>(
  work: () => Promise<T>,
  failuresIn: (output: T) => string = () => "",
): Promise<TransactionResult> {
  try {
    const reason = failuresIn(await orLocked(work));
    return { isDone: reason === "", reason };
  } catch (error) {
    if (!(error instanceof TransactionFailed)) throw error;
    return { isDone: false, reason: error.message };
  }
}
