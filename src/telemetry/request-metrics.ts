import { Counter, Histogram, type Registry } from "@prometheus-io/client";
import { durationBuckets } from "#contract/limits.ts";

/** `endpoint` is the route template, or `unmatched`. */
export interface RequestSample {
  readonly method: string;
  readonly endpoint: string;
  readonly status: number;
  readonly seconds: number;
}

/** What was answered by one route to one method. */
interface Tally {
  readonly labels: { readonly method: string; readonly endpoint: string };
  readonly byStatus: Map<number, number>;
  /** By the bucket that they fall into, and last what took longer. */
  readonly buckets: number[];
  seconds: number;
}

const bucketOf = (seconds: number): number => {
  const bucket = durationBuckets.findIndex((bound) => seconds <= bound);
  return bucket === -1 ? durationBuckets.length : bucket;
};

const durations = { name: "svc_request_duration_seconds", help: "Time to answer a request in seconds." } as const;

function durationsOf({ labels, buckets, seconds }: Tally) {
  let count = 0;
  const bounded = [...durationBuckets, "+Inf"].map((le, bucket) => {
    count += buckets[bucket] ?? 0;
    return { metricName: `${durations.name}_bucket`, labels: { le, ...labels }, value: count };
  });
  return [
    ...bounded,
    { metricName: `${durations.name}_sum`, labels, value: seconds },
    { metricName: `${durations.name}_count`, labels, value: count },
  ];
}

/** Read as a histogram of the library, which cannot take counts. */
class Durations extends Histogram<"method" | "endpoint"> {
  readonly #tallies: () => Iterable<Tally>;

  constructor(registers: Registry[], tallies: () => Iterable<Tally>) {
    super({ ...durations, labelNames: ["method", "endpoint"], registers });
    this.#tallies = tallies;
  }

  override get() {
    const values = [...this.#tallies()].flatMap(durationsOf);
    return Promise.resolve({ ...durations, type: "histogram", aggregator: "sum", collect() {}, values } as const);
  }

  /** What the library calls in place of `get` where text is wanted. */
  getForPromString() {
    return this.get();
  }
}

/**
 * Counts answered requests without the library, which makes a key of all labels for each value: it gets the counts when somebody
 * asks for them.
 */
export function requestMetrics(registers: Registry[]) {
  const byEndpoint = new Map<string, Map<string, Tally>>();

  function* tallies(): Generator<Tally> {
    for (const byMethod of byEndpoint.values()) yield* byMethod.values();
  }

  const tallyOf = (method: string, endpoint: string): Tally => {
    const byMethod = byEndpoint.get(endpoint) ?? new Map<string, Tally>();
    byEndpoint.set(endpoint, byMethod);
    const made: Tally = {
      labels: { method, endpoint },
      byStatus: new Map(),
      buckets: Array.from({ length: durationBuckets.length + 1 }, () => 0),
      seconds: 0,
    };
    byMethod.set(method, made);
    return made;
  };

  new Counter({
    name: "svc_requests_total",
    help: "Requests answered.",
    labelNames: ["method", "endpoint", "status"],
    registers,
    collect() {
      this.reset();
      for (const { labels, byStatus } of tallies())
        for (const [status, count] of byStatus) this.inc({ ...labels, status: String(status) }, count);
    },
  });
  new Durations(registers, tallies);

  return ({ method, endpoint, status, seconds }: RequestSample): void => {
    const tally = byEndpoint.get(endpoint)?.get(method) ?? tallyOf(method, endpoint);
    const { byStatus, buckets } = tally;
    const bucket = bucketOf(seconds);
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    tally.seconds += seconds;
  };
}
