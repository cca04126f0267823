import { describe, expect, it } from "vitest";
import type { SystemMetrics } from "#contract/system-metrics.ts";
import { systemMetricNames } from "#contract/system-metrics.ts";
import { errorWith, send, startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

const minuteMs = 60 * 1000;
const hourMs = 60 * minuteMs;

let service: TestService;
const { steward } = useSteward(async () => {
  service = await startTestService();
  return service;
});

const ask = (query = "") =>
  send(service, { path: `/api/v1/system/metrics${query}`, key: service.key(["system:read"]) });
const read = async (query = ""): Promise<SystemMetrics> => {
  const { status, json } = await ask(query);
  expect(status).toBe(200);
  return json as SystemMetrics;
};
const ago = (ms: number): string => new Date(service.clock.now() - ms).toISOString();

describe("metrics of the host", () => {
  it("are those of the last hour, each by itself", async () => {
    await service.clock.advance(hourMs + minuteMs);
    const { series, ...rest } = await read();
    expect(rest).toEqual({ since: ago(hourMs), until: ago(0), step_seconds: 10 });
    expect(series.map(({ name }) => name)).toEqual(systemMetricNames);
    const hour = (value: number): readonly number[] => Array(360).fill(value);
    expect(series.map(({ values }) => values)).toEqual(
      [0.5, 0.25, 50, 10, 2000, 6000, 8000, 100, 1000, 2000, 3000, 4000, 1, 0, 2.5].map(hour),
    );
    expect(series.some((each) => "max" in each)).toBe(false);
    expect(series[8]).toMatchObject({ unit: "bytes_per_second", kind: "rate", description: expect.any(String) });
  });

  it("go back a day, by five minutes, with the highest samples, and nothing for a time asleep", async () => {
    await service.clock.advance(30_000);
    service.hostSampler.says = { load: { oneMinute: 9, fifteenMinutes: 1 } };
    await service.clock.advance(30_000);
    service.hostSampler.says = {};
    await service.clock.advance(9 * minuteMs);
    service.clock.set(service.clock.now() + 23 * hourMs);
    await service.clock.advance(5 * minuteMs);
    const { series, since, step_seconds: step } = await read(`?names=load_1m&since=${ago(100 * hourMs)}`);
    expect([Date.parse(since), step]).toEqual([service.clock.now() - 24 * hourMs, 300]);
    const asleep = Array(23 * 12).fill(null);
    const before = Array(288 - 3 - asleep.length).fill(null);
    expect(series[0]?.values).toEqual([...before, 1.35, 0.5, ...asleep, 0.5]);
    expect(series[0]?.max).toEqual([...before, 9, 0.5, ...asleep, 0.5]);
    const { series: halves } = await read(`?names=load_1m&since=${ago(24 * hourMs)}&points=2`);
    expect(halves[0]?.max).toEqual([9, 0.5]);
  });

  it("are null where there was no service, and where the host does not say, with the reason", async () => {
    service.hostSampler.says = { pressure: undefined, absences: [{ of: "pressure", reason: "no psi" }] };
    await service.clock.advance(minuteMs);
    const { series, not_shown: missing } = await read("?names=pressure_io_percent,load_1m");
    const [pressure, load] = series.map(({ values }) => values);
    expect(pressure).toEqual([...Array(354).fill(null), 2.5, ...Array(5).fill(null)]);
    expect(load).toEqual([...Array(354).fill(null), ...Array(6).fill(0.5)]);
    expect(missing).toEqual([{ what: "pressure_io_percent", reason: "no psi" }]);
  });

  it("stay in order when the clock is set back or forward", async () => {
    await service.clock.advance(hourMs);
    const start = service.clock.now();
    for (const jump of [-hourMs / 2, 3 * hourMs, -48 * hourMs]) {
      service.clock.set(start + jump);
      await service.clock.advance(minuteMs);
      const { series, until } = await read("?names=disk_read_bytes_per_second");
      expect([Date.parse(until), series[0]?.values.slice(-5)]).toEqual([service.clock.now(), Array(5).fill(1000)]);
    }
  });

  it("refuse unknown names and a start in the future", async () => {
    for (const [query, field] of [
      ["?names=load_1m,load_5m", "names"],
      ["?names=,", "names"],
      [`?since=${ago(-1000)}`, "since"],
      ["?since=yesterday", "since"],
      ["?points=361", "points"],
    ] as const) {
      const { status, json } = await ask(query);
      expect([query, status, json]).toMatchObject([query, 400, errorWith("VALIDATION_ERROR", { field })]);
    }
  });

  it("are saved when the service ends", async () => {
    await service.clock.advance(10_000);
    const before = service.ringStore.saves();
    service.service.cut();
    await service.app.close();
    expect(service.ringStore.saves()).toBe(before + 1);
  });

  it("are printed as a table", async () => {
    service.hostSampler.says = { pressure: undefined, absences: [{ of: "pressure", reason: "no\u001b psi" }] };
    await service.clock.advance(hourMs);
    const { code, out, err } = await steward("metrics");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^NAME +LAST +MEAN +HIGHEST$/m);
    expect(out).toMatch(/^load_1m +0\.50 +0\.50 +0\.50$/m);
    expect(out).toMatch(/^cpu_busy_percent +50\.0 % +50\.0 % +50\.0 %$/m);
    expect(out).toMatch(/^memory_used_bytes +2\.0 KiB/m);
    expect(out).toMatch(/^disk_write_bytes_per_second +2\.0 KiB\/s/m);
    expect(out).toMatch(/^pressure_io_percent +- +2\.5 % +2\.5 %$/m);
    expect(out).toContain(": 360 values, one per 10 s\n");
    expect(out).toContain("not shown: pressure_io_percent: no");
    expect(out).not.toContain("\u001b");
    const json = await steward("metrics load_1m load_15m --since -5min --json");
    expect(JSON.parse(json.out)).toEqual(await read(`?names=load_1m,load_15m&since=${ago(5 * minuteMs)}`));
  });
});
