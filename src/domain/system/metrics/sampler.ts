import { type SystemMetricName, systemMetricNames } from "#contract/system-metrics.ts";
import type { Absence, HostSample, HostSampler, RingStore } from "#domain/ports/host-samples.ts";
import type { Clock } from "#kernel/clock.ts";
import { figuresOf } from "./figures.ts";
import { createSeries, type Series, untilNextSampleMs } from "./series.ts";

/** Samples between two times that the series are saved: five minutes. */
const samplesUnsaved = 30;

export type MetricSampler = ReturnType<typeof createMetricSampler>;

/** Samples the host until it is stopped; the samples of earlier runs are there from the start. */
export function createMetricSampler(ports: {
  readonly host: HostSampler;
  readonly store: RingStore;
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
}) {
  const { host, store, clock } = ports;
  const series: Series<SystemMetricName> = createSeries(systemMetricNames, store.load());
  const stopping = new AbortController();
  let absences: readonly Absence[] = [];

  async function run(): Promise<void> {
    let before: HostSample | undefined;
    let beforeMs = 0;
    for (let taken = 1; !stopping.signal.aborted; taken += 1) {
      const sample = await host.sample();
      const atMs = clock.monotonicMs();
      series.record(clock.now(), figuresOf(sample, before, atMs - beforeMs));
      [before, beforeMs, absences] = [sample, atMs, sample.absences];
      if (taken % samplesUnsaved === 0) store.save(series.kept());
      await clock.sleep(untilNextSampleMs(clock.now()), stopping.signal);
    }
  }

  return {
    series,
    /** Of the newest sample. */
    absences: (): readonly Absence[] => absences,
    start: (): void => void run(),
    stop: (): void => stopping.abort(),
    save: (): void => store.save(series.kept()),
  };
}
