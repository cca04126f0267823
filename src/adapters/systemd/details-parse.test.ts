import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { unitKinds } from "#domain/ports/unit-details.ts";
import { asProperties, parseKind, parseProcesses, parseService } from "./details-parse.ts";

const none = 2n ** 64n - 1n;
const now = Date.parse("2026-01-01T00:00:00Z");
const micros = (text: string): bigint => BigInt(Date.parse(text)) * 1000n;

describe("the properties of a service", () => {
  it("include commands, last run, limits and dependencies", () => {
    const started = micros("2026-01-01T00:00:00Z");
    const row = ["/bin/job", ["job", "-v", "two words"], true, started, 1n, started + 2_500_000n, 2n, 7, 1, 3];
    const parsed = parseService(
      {
        Names: ["job.service", "alias.service"],
        Requires: ["z.target", "a.service"],
        LoadError: ["", ""],
        InvocationID: Buffer.from("00ff", "hex"),
        Conditions: [
          ["ConditionPathExists", false, true, "/etc/x", -1],
          ["ConditionPathExists", false, false, "/etc/y", 1],
        ],
      },
      {
        ExecStart: [row],
        ExecMainStartTimestamp: started,
        ExecMainExitTimestamp: started + 2_500_000n,
        ExecMainCode: 1,
        ExecMainStatus: 3,
        MemoryMax: none,
        CPUQuotaPerSecUSec: 500_000n,
        LimitNOFILESoft: 1024n,
        CPUUsageNSec: none,
        TasksCurrent: 4n,
      },
    );
    expect(parsed).toMatchObject({
      names: ["alias.service", "job.service"],
      invocation: "00ff",
      unmet: ["ConditionPathExists=!/etc/x"],
      dependencies: { requires: ["a.service", "z.target"], wanted_by: [] },
      commands: [{ setting: "ExecStart", argv: ["/bin/job", "-v", "two words"], ignoresFailure: true, exitCode: 3 }],
      lastRun: { startedAt: now, endedAt: now + 2500, exitCode: 3, signal: null },
      limits: { memoryMaxBytes: null, cpuPercent: 50, openFiles: 1024 },
      usage: { cpuNs: null, tasks: 4 },
    });
  });

  it("include a run without an end, and the signal that ended one", () => {
    const at = micros("2026-01-01T00:00:00Z");
    const run = (of: object) => parseService({}, asProperties(of)).lastRun;
    // That of the run before.
    expect(run({ ExecMainStartTimestamp: at, ExecMainExitTimestamp: at - 1000n })).toMatchObject({ endedAt: null });
    expect(
      run({ ExecMainStartTimestamp: at, ExecMainExitTimestamp: at, ExecMainCode: 2, ExecMainStatus: 9 }),
    ).toMatchObject({ exitCode: null, signal: 9 });
  });
});

describe("the properties of other units", () => {
  it("of a timer include its next run and rules", () => {
    const next = micros("2026-01-01T06:00:00Z");
    const timer = {
      Unit: "job.service",
      LastTriggerUSec: 0n,
      NextElapseUSecRealtime: next,
      NextElapseUSecMonotonic: none,
      TimersCalendar: [["OnCalendar", "*-*-* 06:00:00", next]],
      TimersMonotonic: [["OnBootUSec", 900_000_000n, 0n]],
    };
    expect(parseKind("timer", timer, now)).toEqual({
      timer: {
        unit: "job.service",
        lastAt: null,
        nextAt: now + 6 * 3_600_000,
        rules: ["OnCalendar=*-*-* 06:00:00", "OnBootSec=900s"],
      },
    });
  });

  it("of a socket, mount and path include addresses, mounts and watched paths", () => {
    expect(parseKind("socket", { Listen: [["Stream", "[::]:22"]], NConnections: 2, Accept: true }, now)).toEqual({
      socket: { units: [], listens: [{ type: "Stream", address: "[::]:22" }], accepts: true, connections: 2 },
    });
    expect(parseKind("mount", { What: "/dev/sda", Where: "/", Type: "ext4", Options: "rw" }, now)).toEqual({
      mount: { what: "/dev/sda", where: "/", type: "ext4", options: "rw" },
    });
    expect(parseKind("path", { Unit: "a.service", Paths: [["PathExists", "/a"]] }, now)).toEqual({
      path: { unit: "a.service", rules: [{ condition: "PathExists", path: "/a" }] },
    });
    expect(parseKind("target", {}, now)).toEqual({});
  });

  it("are read whatever their types are", () => {
    const value = fc.oneof(fc.anything({ withBigInt: true }), fc.array(fc.array(fc.anything())));
    const names = ["ExecStart", "Conditions", "Names", "Requires", "Listen", "TimersCalendar", "Paths", "InvocationID"];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (properties) => {
        parseService(properties, properties);
        for (const kind of unitKinds) parseKind(kind, properties, now);
        parseProcesses(properties["Names"]);
      }),
    );
  });
});
