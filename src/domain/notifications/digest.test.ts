import { beforeEach, describe, expect, it } from "vitest";
import { createFakeCalendar } from "../../../test/fakes/calendar.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { createDigest, type DigestState, digestDraft } from "./digest.ts";
import type { Draft } from "./messages.ts";

const dayMs = 24 * 60 * 60_000;
const at = Date.parse("2026-01-02T08:00:00Z");
const check = (id: string, status: DigestState["checks"][number]["status"]) => ({
  check_id: id,
  status,
  message: `${id} is ${status}`,
});
const quiet = { checks: [check("memory", "pass"), check("raid_status", "skip")], alerts: [], sent: 0 };

describe("a digest", () => {
  it("lists firing alerts, then failed checks, then warnings", () => {
    const draft = digestDraft(
      {
        checks: [check("memory", "pass"), check("disk_space", "warn"), check("timers", "fail"), check("raid", "skip")],
        alerts: [
          { name: "DiskSpaceLow", state: "firing" },
          { name: "HighCPUUsage", state: "pending" },
        ],
        sent: 3,
      },
      at - dayMs,
      "host",
      at,
    );
    expect(draft).toMatchObject({
      kind: "digest",
      isGood: false,
      title: "[report] host: 1 failed check, 1 warning, 1 firing alert",
    });
    expect(draft).not.toHaveProperty("severity");
    expect(draft.facts).toEqual([
      ["Alert DiskSpaceLow", "firing"],
      ["timers (fail)", "timers is fail"],
      ["disk_space (warn)", "disk_space is warn"],
      ["Passed", "1 of 4, 1 skipped"],
      ["Notifications since the last report", "3"],
      ["Since", "2026-01-01T08:00:00.000Z"],
      ["Time", "2026-01-02T08:00:00.000Z"],
    ]);
  });

  it("says that all checks passed, and counts findings beyond 25", () => {
    expect(digestDraft(quiet, at, "host", at)).toMatchObject({
      isGood: true,
      title: "[report] host: all checks passed",
    });
    const many = Array.from({ length: 40 }, (_, index) => check(`check_${index}`, "warn"));
    const draft = digestDraft({ ...quiet, checks: many }, at, "host", at);
    expect(draft.isGood).toBe(true);
    expect(draft.facts).toContainEqual(["Further findings", "15"]);
    expect(draft.facts.filter(([name]) => name.endsWith("(warn)"))).toHaveLength(25);
  });
});

describe("digests", () => {
  let clock: FakeClock;
  let posted: Draft[];
  let fault: Error | undefined;
  let troubles: unknown[];
  beforeEach(() => {
    clock = createFakeClock(Date.parse("2026-01-01T12:00:00Z"));
    posted = [];
    fault = undefined;
    troubles = [];
  });

  const start = () => {
    const digest = createDigest({
      calendar: createFakeCalendar(dayMs),
      clock,
      host: "host",
      list: () =>
        posted
          .map(({ kind, at: made, isGood, title, facts }) => ({
            kind,
            message: { id: "1", at: made, isGood, title, facts },
          }))
          .reverse(),
      read: () => (fault === undefined ? Promise.resolve(quiet) : Promise.reject(fault)),
      post: (draft) => void posted.push(draft),
      onTrouble: (error) => void troubles.push(error),
    });
    digest.start();
    return digest;
  };
  const times = () => posted.map((draft) => new Date(draft.at).toISOString());

  it("are sent at their times, not at the start of the service", async () => {
    start();
    await clock.advance(12 * 60 * 60_000 - 1);
    expect(times()).toEqual([]);
    await clock.advance(2 * dayMs);
    expect(times()).toEqual(["2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"]);
  });

  it("are sent once over restarts, and late if the service did not run", async () => {
    const first = start();
    await clock.advance(dayMs);
    first.dispose();
    start().dispose();
    await clock.advance(0);
    expect(times()).toEqual(["2026-01-02T00:00:00.000Z"]);
    await clock.advance(dayMs);
    start().dispose();
    start();
    await clock.advance(0);
    expect(times()).toHaveLength(2);
  });

  it("are sent at their times again after the clock had been years ahead", async () => {
    start();
    clock.set(Date.parse("2030-01-01T00:00:00Z"));
    await clock.advance(60_000);
    expect(times()).toHaveLength(1);
    clock.set(Date.parse("2026-01-01T13:00:00Z"));
    await clock.advance(dayMs);
    expect(times()).toEqual([expect.stringMatching(/^2030/), "2026-01-02T00:00:00.000Z"]);
  });

  it("are tried again while the state of the host cannot be read", async () => {
    start();
    fault = new Error("busy");
    await clock.advance(dayMs);
    expect([times(), troubles.length > 0]).toEqual([[], true]);
    fault = undefined;
    await clock.advance(60_000);
    expect(times()).toHaveLength(1);
  });
});
