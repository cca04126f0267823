import type { ComponentName } from "#contract/health.ts";
import { componentNames } from "#contract/health.ts";
import { probeIntervalMs } from "#contract/limits.ts";
import type { Clock, Dispose } from "#domain/kernel/clock.ts";
import type { Probe, ProbeResult } from "./ports.ts";

/** Time after which a probe that has not answered counts as failed. */
const probeTimeoutMs = 10_000;

export type Components = Readonly<Record<ComponentName, ProbeResult>>;

export interface Prober {
  /** The last results; a promise while the first round is still under way. */
  readonly components: () => Components | Promise<Components>;
  /** Probes one component at once, for what learns of a change before the interval is over. */
  readonly probeNow: (name: ComponentName) => Promise<void>;
  readonly dispose: Dispose;
}

/**
 * Probes every component when started and then every 30 s. A probe of a component never overlaps
 * the one before it.
 * @param onChange is told of every result that differs from the one before, the first included.
 */
export function startProber(ports: {
  probes: Readonly<Record<ComponentName, Probe>>;
  clock: Clock;
  onChange: (name: ComponentName, result: ProbeResult) => void;
}): Prober {
  const { probes, clock, onChange } = ports;
  const shutdown = new AbortController();
  const results = new Map<ComponentName, ProbeResult>();
  const running = new Map<ComponentName, Promise<void>>();

  const outcome = async (name: ComponentName): Promise<ProbeResult> => {
    const over = new AbortController();
    const signal = AbortSignal.any([shutdown.signal, over.signal]);
    const late = clock.sleep(probeTimeoutMs, signal).then(() => {
      throw new Error(`no answer after ${probeTimeoutMs / 1000} s`);
    });
    try {
      return await Promise.race([probes[name](signal), late]);
    } catch (error) {
      return { healthy: false, expected: true, reason: error instanceof Error ? error.message : String(error) };
    } finally {
      late.catch(() => undefined);
      over.abort();
    }
  };

  const run = async (name: ComponentName): Promise<void> => {
    const result = await outcome(name);
    if (shutdown.signal.aborted) return;
    const before = results.get(name);
    results.set(name, result);
    if (before?.healthy !== result.healthy || before.reason !== result.reason) onChange(name, result);
  };

  const probeNow = (name: ComponentName): Promise<void> => {
    const current = running.get(name);
    if (current !== undefined) return current;
    const started = run(name).finally(() => running.delete(name));
    running.set(name, started);
    return started;
  };

  const probeAll = async (): Promise<void> => {
    await Promise.all(componentNames.map(probeNow));
  };

  let isFirstRoundOver = false;
  const firstRound = probeAll().then(() => {
    isFirstRoundOver = true;
  });
  const stop = clock.every(probeIntervalMs, () => void probeAll());

  const result = (name: ComponentName): ProbeResult =>
    results.get(name) ?? { healthy: false, expected: true, reason: "not probed yet" };

  const current = (): Components => ({
    cli: result("cli"),
    ops: result("ops"),
    llm: result("llm"),
    security: result("security"),
  });

  return {
    components: () => (isFirstRoundOver ? current() : firstRound.then(current)),
    probeNow,
    dispose() {
      stop();
      shutdown.abort();
    },
  };
}
