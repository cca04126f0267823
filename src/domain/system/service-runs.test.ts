import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogEntry } from "#contract/log-entry.ts";
import { runsOf } from "./service-runs.ts";

const unit = "job.service";
let second = 0;
const entry = (message: string, rest: Partial<LogEntry> = {}): LogEntry => {
  second += 1;
  return {
    timestamp: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString(),
    unit,
    priority: 6,
    message,
    cursor: String(second),
    identifier: "systemd",
    pid: 1,
    hostname: "host",
    boot_id: "a".repeat(32),
    ...rest,
  };
};
const runs = (...entries: readonly (string | LogEntry)[]) =>
  runsOf(
    entries.map((each) => (typeof each === "string" ? entry(each) : each)),
    unit,
  ).map(({ result, exit, duration_ms: duration }) => [result, exit, duration]);

describe("the runs of a service in its log", () => {
  it("have their results and durations, newest first", () => {
    expect(
      runs(
        "Starting job.service - A job...",
        "job.service: Deactivated successfully.",
        "Finished job.service - A job.",
        "job.service: Consumed 1.2s CPU time.",
        "Starting job.service - A job...",
        "job.service: Main process exited, code=exited, status=3/NOTIMPLEMENTED",
        "job.service: Failed with result 'exit-code'.",
        "Failed to start job.service - A job.",
        "Started job.service - A job.",
      ),
    ).toEqual([
      ["running", "", null],
      ["exit-code", "status=3/NOTIMPLEMENTED", 2000],
      ["success", "", 1000],
    ]);
  });

  it("end when the service stops, and last while it remains active after its exit", () => {
    expect(runs("Starting a job...", "Finished a job.")).toEqual([["success", "", null]]);
    expect(
      runs(
        "Started a job.",
        "Stopping a job...",
        "job.service: Main process exited, code=killed, status=9/KILL",
        "job.service: Failed with result 'signal'.",
        "Stopped a job.",
      ),
    ).toEqual([["signal", "status=9/KILL", 3000]]);
    expect(runs("Starting a job...", "Started a job.", "Stopped a job.")).toEqual([["success", "", 2000]]);
  });

  it("have an unknown end when the host went down, and an unknown start before the first entry", () => {
    expect(runs("Started a job.", entry("Started a job.", { boot_id: "b".repeat(32) }))).toEqual([
      ["running", "", null],
      ["unknown", "", null],
    ]);
    expect(runs("job.service: Deactivated successfully.")).toEqual([["success", "", null]]);
  });

  it("are read from entries of systemd alone", () => {
    const forged = "job.service: Failed with result 'exit-code'.";
    expect(runs(entry(forged, { pid: 4711 }), entry(forged, { identifier: "job" }))).toEqual([]);
    expect(runs("other.service: Failed with result 'exit-code'.")).toEqual([]);
  });

  it("are ten at most, whatever the messages are", () => {
    const message = fc.oneof(
      fc.string(),
      fc.constantFrom("Starting x", "Started x", "Stopped x", "Finished x", `${unit}: Deactivated successfully.`),
      fc.string().map((text) => `${unit}: Main process exited, code=exited, status=${text}`),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 60 }), (messages) => {
        const found = runsOf(
          messages.map((text) => entry(text)),
          unit,
        );
        expect(found.length).toBeLessThanOrEqual(10);
        for (const { duration_ms: duration } of found) expect(duration ?? 0).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
