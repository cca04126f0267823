import type { ComponentName } from "#contract/health.ts";
import { probeIntervalMs } from "#contract/limits.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { Probe, ProbeResult } from "./ports.ts";

/** Time after which a probe that has not answered counts as failed. */
const probeTimeoutMs = 10_000;

/** What was found of the service's own components, and of those that settings add. */
export type Components = Readonly<Record<ComponentName, ProbeResult>> & Readonly<Record<string, ProbeResult>>;

export interface Prober {
  /** The last results; a promise while the first round is still under way. */
  readonly components: () => Components | Promise<Components>;
  /** Probes one component at once, for what learns of a change before the interval is over. */
  readonly probeNow: (name: string) => Promise<void>;
  readonly dispose: Dispose;
}

/**
 * Probes every component when started and then every 30 s. A probe of a component never overlaps
 * the one before it.
 * @param onChange is told of every result that differs from the one before, the first included.
 */
export function startProber(ports: {
  probes: Readonly<Record<ComponentName, Probe>>;
  /** Of components that settings add, by name. */
  added?: Readonly<Record<string, Probe>>;
  clock: Clock;
  onChange: (name: string, result: ProbeResult) => void;
}): Prober {
  const { added = {}, clock, onChange } = ports;
  const probes = new Map(Object.entries({ ...added, ...ports.probes }));
  const shutdown = new AbortController();
  const results = new Map<string, ProbeResult>();
  const running = new Map<string, Promise<void>>();

  const outcome = async (probe: Probe): Promise<ProbeResult> => {
    const over = new AbortController();
    const signal = AbortSignal.any([shutdown.signal, over.signal]);
    const late = clock.sleep(probeTimeoutMs, signal).then(() => {
      throw new Error(`no answer after ${probeTimeoutMs / 1000} s`);
    });
    try {
      return await Promise.race([probe(signal), late]);
    } catch (error) {
      return { healthy: false, expected: true, reason: errorMessage(error) };
    } finally {
      late.catch(() => undefined);
      over.abort();
    }
  };

  const run = async (name: string, probe: Probe): Promise<void> => {
    const result = await outcome(probe);
    if (shutdown.signal.aborted) return;
    const before = results.get(name);
    results.set(name, result);
    if (before?.healthy !== result.healthy || before.reason !== result.reason) onChange(name, result);
  };

  const probeNow = async (name: string): Promise<void> => {
    const current = running.get(name);
    const probe = probes.get(name);
    if (current !== undefined || probe === undefined) return current;
    const started = run(name, probe).finally(() => running.delete(name));
    running.set(name, started);
    await started;
  };

  const probeAll = async (): Promise<void> => {
    await Promise.all([...probes.keys()].map(probeNow));
  };

  let isFirstRoundOver = false;
  const firstRound = probeAll().then(() => {
    isFirstRoundOver = true;
  });
  const stop = clock.every(probeIntervalMs, () => void probeAll());

  const result = (name: string): ProbeResult =>
    results.get(name) ?? { healthy: false, expected: true, reason: "not probed yet" };

  const current = (): Components => ({
    ...Object.fromEntries(Object.keys(added).map((name) => [name, result(name)])),
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
