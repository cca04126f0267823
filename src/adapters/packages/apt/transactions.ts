import { existsSync } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { Clock } from "#domain/kernel/clock.ts";
import { isMissing, orUndefined } from "../files.ts";
import type { LockHolder, LockTable } from "./locks.ts";
import { failureReason, parseLockConflict } from "./output.ts";

/** A command that changes packages. */
export interface Transaction {
  /** Name of its systemd unit, without `.service`. */
  readonly unit: string;
  readonly description: string;
  readonly argv: readonly [program: string, ...args: string[]];
  /** Files whose locks it needs. */
  readonly locks: readonly string[];
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

const hostPlaces = { booted: "/run/systemd/system", output: "/run/steward-packages" };
const defaultLockWaitMs = 60_000;
const betweenLooksMs = 1_000;
const longestMs = 30 * 60_000;
const keptOutputBytes = 64 * 1024;

interface Ended {
  readonly exitCode: number;
  /** The last of what it wrote. */
  readonly output: string;
}

async function tailOf(path: string): Promise<string> {
  const file = await orUndefined(open(path), isMissing);
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

/**
 * Runs commands that change packages. Where systemd runs, each is a unit of its own that writes into a file: the end of the
 * service neither kills it nor takes its output away, on which it would fail. A held lock is waited for; it is never removed.
 */
export function createTransactions(ports: {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly locks: LockTable;
  readonly lockWaitMs?: number;
  readonly places?: typeof hostPlaces;
}): (transaction: Transaction, signal: AbortSignal) => Promise<string> {
  const { exec, clock, locks, lockWaitMs = defaultLockWaitMs, places = hostPlaces } = ports;

  const asUnit = async ({ unit, description, argv }: Transaction, signal: AbortSignal): Promise<Ended> => {
    await mkdir(places.output, { recursive: true, mode: 0o700 });
    const path = join(places.output, `${unit}.log`);
    await rm(path, { force: true });
    const options = [
      "--wait",
      "--collect",
      "--quiet",
      "--no-ask-password",
      `--unit=${unit}`,
      `--description=${description}`,
    ];
    const outputs = [`--property=StandardOutput=file:${path}`, "--property=StandardError=inherit"];
    const command = ["/usr/bin/env", ...environment, ...argv];
    try {
      const { exitCode, stderr } = await exec(["/usr/bin/systemd-run", ...options, ...outputs, "--", ...command], {
        signal,
        timeoutMs: longestMs,
      });
      const output = await tailOf(path);
      return { exitCode, output: output === "" && exitCode !== 0 ? stderr : output };
    } catch (error) {
      // What could not be started has a cause; otherwise only the wait for it was broken off.
      if (!(error instanceof CommandFailed) || error.cause !== undefined) throw error;
      throw new CommandFailed(`${error.message}; ${unit}.service goes on by itself (see systemctl status ${unit})`, {
        cause: error,
      });
    }
  };

  /** Without systemd. The signal is not passed on: to kill dpkg half-way would do more harm than to let it end. */
  const directly = async ({ argv }: Transaction): Promise<Ended> => {
    const { exitCode, stdout, stderr } = await exec(["/usr/bin/env", ...environment, ...argv], {
      timeoutMs: longestMs,
    });
    return { exitCode, output: `${stdout}\n${stderr}`.slice(-keptOutputBytes) };
  };

  const firstHolder = async (paths: readonly string[]): Promise<LockHolder | undefined> => {
    for (const path of paths) {
      const holder = await locks.holder(path);
      if (holder !== undefined) return holder;
    }
    return undefined;
  };

  /** Who was in the way although no lock was seen to be held: somebody came between. */
  const conflictOf = async ({ exitCode, output }: Ended): Promise<string | undefined> => {
    if (exitCode === 0) return undefined;
    if (/was already loaded or has a fragment file/.test(output)) return "an earlier run that has not ended";
    const conflict = parseLockConflict(output);
    if (conflict === undefined) return undefined;
    const { pid } = conflict;
    return pid === undefined ? "another process" : `${await locks.program(pid)} (process ${pid})`;
  };

  return async (transaction, signal) => {
    const startedAtMs = clock.monotonicMs();
    for (;;) {
      signal.throwIfAborted();
      const holder = await firstHolder(transaction.locks);
      let inTheWay = holder && `${holder.program} (process ${holder.pid})`;
      if (inTheWay === undefined) {
        const ended = existsSync(places.booted) ? await asUnit(transaction, signal) : await directly(transaction);
        if (ended.exitCode === 0) return ended.output;
        inTheWay = await conflictOf(ended);
        if (inTheWay === undefined) throw new CommandFailed(failureReason(ended.output, ended.exitCode));
      }
      const waitedMs = clock.monotonicMs() - startedAtMs;
      if (waitedMs >= lockWaitMs) {
        const seconds = Math.round(lockWaitMs / 1000);
        throw new CommandFailed(
          `${inTheWay} holds the lock of the package manager, and did so for the ${seconds} s that were waited`,
        );
      }
      await clock.sleep(Math.min(betweenLooksMs, lockWaitMs), signal);
    }
  };
}
