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
