import { Counter, Histogram, Registry } from "@prometheus-io/client";
import { expect, it } from "vitest";
import { durationBuckets } from "#contract/limits.ts";
import { requestMetrics } from "./request-metrics.ts";

it("requests are counted and timed as the library counts and times them", async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const count = requestMetrics([ours]);
  const requests = new Counter({
    name: "svc_requests_total",
    help: "Requests answered.",
    labelNames: ["method", "endpoint", "status"],
    registers: [theirs],
  });
  const durations = new Histogram({
    name: "svc_request_duration_seconds",
    help: "Time to answer a request in seconds.",
    labelNames: ["method", "endpoint"],
    buckets: [...durationBuckets],
    registers: [theirs],
  });
  const both = async (): Promise<void> => expect(await ours.metrics()).toBe(await theirs.metrics());
  await both();
  const samples = [
    { method: "GET", endpoint: "/livez", status: 200, seconds: 0.01 },
    { method: "GET", endpoint: "/livez", status: 503, seconds: 0.010001 },
    { method: "HEAD", endpoint: "/livez", status: 200, seconds: 0 },
    { method: "GET", endpoint: "/api/v1/jobs/{id}", status: 200, seconds: 5 },
    { method: "GET", endpoint: "/api/v1/jobs/{id}", status: 200, seconds: 61.5 },
  ];
  for (const sample of [...samples, ...samples]) {
    const { method, endpoint, status, seconds } = sample;
    count(sample);
    requests.inc({ method, endpoint, status: String(status) });
    durations.observe({ method, endpoint }, seconds);
    await both();
  }
  expect(await ours.metrics()).toContain(
    'svc_request_duration_seconds_bucket{le="+Inf",method="GET",endpoint="/livez"} 4',
  );
});
