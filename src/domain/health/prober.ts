import type { ComponentName } from "#contract/health.ts";
import { probeIntervalMs } from "#contract/limits.ts";
import { type Probe, type ProbeResult, unhealthy } from "#domain/ports/probe.ts";
import { withinTime } from "#kernel/async.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";

const probeTimeoutMs = 10_000;

/** The service's own components, and those that settings add. */
export type Components = Readonly<Record<ComponentName, ProbeResult>> & Readonly<Record<string, ProbeResult>>;

export interface Probed {
  readonly probes: Readonly<Record<ComponentName, Probe>>;
  readonly added: Readonly<Record<string, Probe>>;
  /** Called with every result that differs from the previous one, and the first. */
  readonly onChange: (name: string, result: ProbeResult) => void;
}

export type Prober = ReturnType<typeof createProber>;

/** Probes of one component never overlap. */
export function createProber(clock: Clock) {
  let probed: Probed | undefined;
  const probes = new Map<string, Probe>();
  const shutdown = new AbortController();
  const results = new Map<string, ProbeResult>();
  let latest: Components | undefined;
  const running = new Map<string, Promise<void>>();

  const late = (): never => {
    throw new Error(`no answer after ${probeTimeoutMs / 1000} s`);
  };

  const run = async (name: string, probe: Probe): Promise<void> => {
    const result = await withinTime(clock, probeTimeoutMs, shutdown.signal, probe, late).catch((error: unknown) =>
      unhealthy(errorMessage(error)),
    );
    if (shutdown.signal.aborted) return;
    const before = results.get(name);
    results.set(name, result);
    latest = undefined;
    if (before?.healthy !== result.healthy || before.reason !== result.reason) probed?.onChange(name, result);
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

  const result = (name: string): ProbeResult => results.get(name) ?? unhealthy("not probed yet");

  const read = (): Components => ({
    ...Object.fromEntries(Object.keys(probed?.added ?? {}).map((name) => [name, result(name)])),
    cli: result("cli"),
    ops: result("ops"),
    llm: result("llm"),
    security: result("security"),
  });

  const current = (): Components => {
    latest ??= read();
    return latest;
  };

  let isFirstRoundOver = false;
  const firstRound = Promise.withResolvers<void>();
  let stop: Dispose | undefined;
  return {
    /** The last results, after the first round; the same object until one changes. */
    components: (): Components | Promise<Components> =>
      isFirstRoundOver ? current() : firstRound.promise.then(current),
    /** Probes one component at once; does nothing before the start. */
    probeNow,
    begin: (given: Probed): void => {
      probed = given;
      for (const [name, probe] of Object.entries({ ...given.added, ...given.probes })) probes.set(name, probe);
      void probeAll().then(() => {
        isFirstRoundOver = true;
        firstRound.resolve();
      });
      stop = clock.every(probeIntervalMs, () => void probeAll());
    },
    end: (): void => {
      stop?.();
      shutdown.abort();
    },
  };
}

/** Healthy when both probes are. Expected where systemd runs: without it nothing here could act on the host. */
export const opsProbe =
  (bus: Probe, packages: Probe): Probe =>
  async (signal) => {
    const results = await Promise.all([bus(signal), packages(signal)]);
    const [busResult, packageResult] = results;
    const missing = results.filter((result) => !result.healthy && result.expected);
    return {
      healthy: busResult.healthy && missing.length === 0,
      expected: busResult.expected,
      ...(missing.length > 0 || !busResult.healthy
        ? { reason: [busResult, packageResult].flatMap((result) => result.reason ?? []).join("; ") }
        : {}),
    };
  };

/** The line that `systemctl status` shows. */
export function statusWords(url: string, components: Readonly<Record<string, ProbeResult>>): string {
  const missing = Object.entries(components).flatMap(([name, { healthy, expected }]) =>
    expected && !healthy ? [name] : [],
  );
  return missing.length === 0 ? `Ready on ${url}` : `Ready on ${url}, unhealthy: ${missing.join(", ")}`;
}

/**
 * Why the service needs a restart, if it does: its own address does not answer in time. Where others were answered meanwhile, or all
 * connections are in use, it is a flood, which a restart would make worse.
 */
export const checkOwnAddress =
  (endpoint: Probe, load: { readonly isFull: () => boolean; readonly answered: () => number }) =>
  async (signal: AbortSignal): Promise<string | undefined> => {
    const before = load.answered();
    const { healthy, reason = "own address does not answer" } = await endpoint(signal).catch((error: unknown) => ({
      healthy: false,
      reason: errorMessage(error),
    }));
    return healthy || load.isFull() || load.answered() > before ? undefined : reason;
  };
