import type { Exec } from "#adapters/exec/index.ts";
import type { Clock } from "#kernel/clock.ts";
import { toError } from "#kernel/errors.ts";

export interface ManagerVariables {
  /** Where it is told; a path, or with `@` an abstract name. */
  readonly address: string;
  readonly watchdogMs: number | undefined;
}

const names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] as const;

/** An interval of microseconds that is meant for this process, sd_watchdog_enabled(3). */
function watchdogOf({ WATCHDOG_USEC: usec = "", WATCHDOG_PID: watched }: NodeJS.ProcessEnv, pid: number) {
  if (watched !== undefined && watched !== String(pid)) return undefined;
  const ms = /^\d+$/.test(usec) ? Number(usec) / 1000 : 0;
  return ms > 0 ? ms : undefined;
}

/**
 * Takes the variables of sd_notify(3) out of an environment: what this process starts is not to speak for it.
 * @returns undefined when nobody wants to be told.
 */
export function takeManagerVariables(environment: NodeJS.ProcessEnv, pid: number): ManagerVariables | undefined {
  const { NOTIFY_SOCKET: address = "" } = environment;
  const watchdogMs = watchdogOf(environment, pid);
  for (const name of names) delete environment[name];
  return /^[/@]./.test(address) ? { address, watchdogMs } : undefined;
}

type Words = () => string | Promise<string>;

/** Who started the service and wants to know how it is: systemd, by sd_notify(3). */
export interface ServiceManager {
  /** It has begun to start. Asks for more time as long as it is not ready. */
  readonly starting: () => void;
  /**
   * It is ready, and from now on shows that it lives.
   * @param look why it is not well, or undefined. As long as it is not, the manager gets no sign of life.
   * @param status how it is, in words, looked at again and again.
   */
  readonly ready: (look: (signal: AbortSignal) => Promise<string | undefined>, status: Words) => void;
  readonly reload: (work: () => Promise<void>) => Promise<void>;
  readonly stopping: () => void;
  /** Resolves when all that was to be told has been. */
  readonly close: () => Promise<void>;
}

const sendTimeoutMs = 5_000;
const retryMs = 1_000;
/** How often a slow start asks for more time, for how much, and for how long at most. */
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

/**
 * Tells the service manager by way of `systemd-notify`, since Node has no datagrams on local sockets. It waits until the message
 * is read: a sender that is gone by then belongs to no unit any more.
 * @param ports.variables undefined when nobody wants to be told; then all of this does nothing.
 * @param ports.onTrouble called with what keeps the manager from being told, and with why no sign of life was given.
 */
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
  let told: string | undefined;
  let last = Promise.resolve(true);

  const deliver = async (words: readonly string[]): Promise<boolean> => {
    const argv = ["/usr/bin/env", `NOTIFY_SOCKET=${address}`, "systemd-notify", ...words] as const;
    try {
      const { exitCode, stderr } = await exec(argv, { timeoutMs: sendTimeoutMs, maxOutputBytes: 1_000 });
      if (exitCode !== 0) throw new Error(`cannot tell the service manager: exit code ${exitCode}: ${stderr.trim()}`);
      return true;
    } catch (error) {
      onTrouble(toError(error));
      return false;
    }
  };
  /** One after the other, with the words on how it is when they have changed. */
  const tell = (...words: readonly string[]): Promise<boolean> => {
    last = last.then(async () => {
      const text = `STATUS=${await status()}`;
      const all = text === told ? words : [...words, text];
      if (all.length > 0 && !(await deliver(all))) return false;
      told = text;
      return true;
    });
    return last;
  };
  /** It waits for this one, so it is told until it has heard. */
  const tellReady = async (): Promise<void> => {
    while (isReady && !(await tell("READY=1"))) await clock.sleep(retryMs, ended.signal);
  };

  const extend = async (): Promise<void> => {
    const until = clock.monotonicMs() + longestStartMs;
    void tell();
    for (;;) {
      await clock.sleep(startTurnMs, started.signal);
      if (started.signal.aborted || clock.monotonicMs() >= until) return;
      await tell(`EXTEND_TIMEOUT_USEC=${startExtensionMs * 1000}`);
    }
  };

  const watch = async (look: (signal: AbortSignal) => Promise<string | undefined>): Promise<void> => {
    const turnMs = watchdogMs === undefined ? statusTurnMs : watchdogMs / 2;
    for (;;) {
      const trouble = await look(AbortSignal.timeout(turnMs / 2)).catch(String);
      if (ended.signal.aborted) return;
      if (trouble !== undefined) onTrouble(new Error(`cannot give a sign of life: ${trouble}`));
      await (watchdogMs === undefined || trouble !== undefined ? tell() : tell("WATCHDOG=1"));
      // What was but a moment is over before the time is.
      await clock.sleep(trouble === undefined ? turnMs : turnMs / 8, ended.signal);
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
      void tellReady().then(() => watch(look));
    },
    async reload(work) {
      // Before it is ready and after it stops, the end of a reload would say that it is.
      if (!isReady) return work();
      await tell("RELOADING=1", `MONOTONIC_USEC=${monotonicUsec()}`);
      await work();
      await tellReady();
    },
    stopping() {
      started.abort();
      ended.abort();
      isReady = false;
      status = () => "Stopping";
      void tell("STOPPING=1");
    },
    async close() {
      await last;
    },
  };
}
