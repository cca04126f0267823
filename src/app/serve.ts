import { hostname } from "node:os";
import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { prepareStateDir } from "#adapters/keystore/state-dir.ts";
import { takePassedSockets } from "#adapters/local-sockets/index.ts";
import { createOperationId } from "#adapters/operations/files.ts";
import { createServiceManager, takeManagerVariables } from "#adapters/service-manager/index.ts";
import type { Config } from "#config/load.ts";
import { checkOwnAddress, statusWords } from "#domain/health/prober.ts";
import type { Logs } from "#telemetry/logger.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { announceKey } from "./admin-key.ts";
import { hostHeap, returnHeap } from "./heap.ts";
import type { PartContext } from "./part.ts";
import { buildService, type Service } from "./parts.ts";
import { createReload } from "./reload.ts";

/** After SIGTERM: time until requests in flight are aborted, and then until they are cut. */
const drainMs = 3_000;
const cutMs = 1_000;
const disposeMs = 10_000;

export interface ServeOptions {
  readonly version: string;
  readonly logs: Logs;
  /** Whether to make a further admin key, and to replace a lost key store. */
  readonly newAdminKey: boolean;
  readonly isSafeMode: boolean;
  /** Whether somebody has started it by hand, and reads how to continue each time. */
  readonly isAttended: boolean;
  readonly reload: () => Config;
  readonly report: (text: string) => void;
}

async function drainService({ clock }: PartContext, { health, plugins, http }: Service["parts"]): Promise<void> {
  health.drain();
  const closed = http.close();
  const endInTime = async (): Promise<void> => {
    await clock.sleep(drainMs);
    http.abort();
    await clock.sleep(cutMs);
    plugins.logRunning();
    http.cut();
  };
  await Promise.race([closed, endInTime()]);
  await Promise.race([closed, clock.sleep(cutMs)]);
}

function connectServiceManager({ log }: Logs) {
  const manager = createServiceManager({
    variables: takeManagerVariables(process.env, process.pid),
    // Untraced: nobody looks for watchdog pings in traces.
    exec,
    clock: systemClock,
    monotonicUsec: () => process.hrtime.bigint() / 1_000n,
    onTrouble: (error) => log.warn({ err: error }, "cannot notify the service manager"),
  });
  const passed = takePassedSockets(process.env, process.pid);
  manager.starting();
  return { manager, passed };
}

/** Runs the service until SIGTERM or SIGINT. @throws Error when it cannot start: settings, state, key store, address. */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const { version, logs, isSafeMode, newAdminKey } = options;
  const { log, requestLog } = logs;
  const clock = systemClock;
  // All files are private from here on.
  process.umask(0o077);
  const stopped = Promise.withResolvers<string>();
  // Not `once`: Ctrl-C reaches a service that npm has started twice, from the terminal and from npm.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stopped.resolve(signal));
  const heap = hostHeap();
  const { manager, passed } = connectServiceManager(logs);
  // A SIGHUP during the start is remembered; without a listener it would end the process.
  let isReloadWanted = false;
  let reload: (() => void) | undefined;
  process.on("SIGHUP", () => {
    isReloadWanted = true;
    reload?.();
  });

  for (const warning of config.warnings) log.warn({ setting: warning }, "settings");
  prepareStateDir(config.stateDir);
  const context: PartContext = {
    ...{ config, version, clock, log, requestLog, isSafeMode, newAdminKey, passed },
    metrics: createMetrics(),
    hostName: hostname,
    createId: () => createOperationId(clock.now()),
  };
  const { parts, lifecycle } = await buildService(context);
  const { http, prober } = parts;
  const stopReturning = returnHeap(heap, clock);
  reload = createReload({ config, load: options.reload, use: lifecycle.reload, around: manager.reload, log });
  if (isReloadWanted) reload();
  await http.listen();
  announceKey(context, parts, options);
  const status = async (): Promise<string> => statusWords(http.url(), await prober.components());
  const starting = lifecycle.start().then(async () => {
    log.info("ready");
    manager.ready(checkOwnAddress(http.endpoint, http.load), status);
    await lifecycle.ready();
  });

  const signal = await Promise.race([stopped.promise, starting.then(() => stopped.promise)]);
  log.info({ signal }, "stopping");
  manager.stopping();
  stopReturning();
  await drainService(context, parts);
  // The timer also keeps the process alive while a part waits for something that does not.
  await Promise.race([lifecycle.dispose(), clock.sleep(disposeMs)]);
  await Promise.race([manager.close(), clock.sleep(cutMs)]);
  log.info("stopped");
}
