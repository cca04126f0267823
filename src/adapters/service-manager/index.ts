import type { Exec } from "#adapters/exec/index.ts";
import type { Clock } from "#kernel/clock.ts";
import { toError } from "#kernel/errors.ts";

export interface ManagerVariables {
  readonly address: string;
  readonly watchdogMs: number | undefined;
}

const names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] as const;

function watchdogOf({ WATCHDOG_USEC: usec = "", WATCHDOG_PID: watched }: NodeJS.ProcessEnv, pid: number) {
  if (watched !== undefined && watched !== String(pid)) return undefined;
  const ms = /^\d+$/.test(usec) ? Number(usec) / 1000 : 0;
  return ms > 0 ? ms : undefined;
}

/** Takes the variables of sd_notify(3) out of an environment: programs that are started must not notify. */
export function takeManagerVariables(environment: NodeJS.ProcessEnv, pid: number): ManagerVariables | undefined {
  const { NOTIFY_SOCKET: address = "" } = environment;
  const watchdogMs = watchdogOf(environment, pid);
  for (const name of names) delete environment[name];
  return /^[/@]./.test(address) ? { address, watchdogMs } : undefined;
}

type Words = () => string | Promise<string>;

export interface ServiceManager {
  readonly starting: () => void;
  /** @param look why the service is unhealthy: then no watchdog pings are sent. @param status for people. */
  readonly ready: (look: (signal: AbortSignal) => Promise<string | undefined>, status: Words) => void;
  readonly reload: (work: () => Promise<void>) => Promise<void>;
  readonly stopping: () => void;
  readonly close: () => Promise<void>;
}

const sendTimeoutMs = 5_000;
const retryMs = 1_000;
const startTurnMs = 10_000;
const startExtensionMs = 30_000;
const longestStartMs = 300_000;
const statusTurnMs = 30_000;

const nobody: ServiceManager = {
  starting: () => undefined,
  ready: () => undefined,
  reload: (work) => work(),
  stopping: () => undefined,
  close: () => Promise.resolve(),
};

/** By `systemd-notify`, since Node has no datagram sockets; it waits until systemd has read the message. */
export function createServiceManager(ports: {
  readonly variables: ManagerVariables | undefined;
  readonly exec: Exec;
  readonly clock: Pick<Clock, "sleep" | "monotonicMs">;
  readonly monotonicUsec: () => bigint;
  readonly onTrouble: (error: Error) => void;
}): ServiceManager {
  const { variables, exec, clock, monotonicUsec, onTrouble } = ports;
  if (variables === undefined) return nobody;
  const { address, watchdogMs } = variables;
  const started = new AbortController();
  const ended = new AbortController();
  let isReady = false;
  let status: Words = () => "Starting";
  let reported: string | undefined;
  let last = Promise.resolve(true);

  const deliver = async (words: readonly string[]): Promise<boolean> => {
    const argv = ["/usr/bin/env", `NOTIFY_SOCKET=${address}`, "systemd-notify", ...words] as const;
    try {
      const { exitCode, stderr } = await exec(argv, { timeoutMs: sendTimeoutMs, maxOutputBytes: 1_000 });
      if (exitCode !== 0) throw new Error(`cannot notify the service manager: exit code ${exitCode}: ${stderr.trim()}`);
      return true;
    } catch (error) {
      onTrouble(toError(error));
      return false;
    }
  };
  const report = (...words: readonly string[]): Promise<boolean> => {
    last = last.then(async () => {
      const text = `STATUS=${await status()}`;
      const all = text === reported ? words : [...words, text];
      if (all.length > 0 && !(await deliver(all))) return false;
      reported = text;
      return true;
    });
    return last;
  };
  /** It waits for this notification, so it is repeated until it has arrived. */
  const notifyReady = async (): Promise<void> => {
    while (isReady && !(await report("READY=1"))) await clock.sleep(retryMs, ended.signal);
  };

  const extend = async (): Promise<void> => {
    const until = clock.monotonicMs() + longestStartMs;
    void report();
    for (;;) {
      await clock.sleep(startTurnMs, started.signal);
      if (started.signal.aborted || clock.monotonicMs() >= until) return;
      await report(`EXTEND_TIMEOUT_USEC=${startExtensionMs * 1000}`);
    }
  };

  const watch = async (look: (signal: AbortSignal) => Promise<string | undefined>): Promise<void> => {
    const pingMs = watchdogMs === undefined ? Infinity : watchdogMs / 2;
    const turnMs = Math.min(statusTurnMs, pingMs);
    let pingedAt = -Infinity;
    for (;;) {
      const trouble = await look(AbortSignal.timeout(turnMs / 2)).catch(String);
      if (ended.signal.aborted) return;
      if (trouble !== undefined) onTrouble(new Error(`cannot send the watchdog ping: ${trouble}`));
      const now = clock.monotonicMs();
      const isDue = watchdogMs !== undefined && trouble === undefined && now - pingedAt + turnMs > pingMs;
      const isSent = await (isDue ? report("WATCHDOG=1") : report());
      if (isDue && isSent) pingedAt = now;
      await clock.sleep(trouble === undefined && isSent ? turnMs : turnMs / 8, ended.signal);
      if (ended.signal.aborted) return;
    }
  };

  return {
    starting: () => void extend(),
    ready(look, words) {
      if (ended.signal.aborted) return;
      started.abort();
      isReady = true;
      status = words;
      void notifyReady().then(() => watch(look));
    },
    async reload(work) {
      // Before it is ready and after it stops, the end of a reload would say that it is.
      if (!isReady) return work();
      await report("RELOADING=1", `MONOTONIC_USEC=${monotonicUsec()}`);
      await work();
      await notifyReady();
    },
    stopping() {
      started.abort();
      ended.abort();
      isReady = false;
      status = () => "Stopping";
      void report("STOPPING=1");
    },
    async close() {
      await last;
    },
  };
}
