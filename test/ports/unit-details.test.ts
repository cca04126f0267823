import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOfflineDetails } from "#adapters/systemd/offline.ts";
import type { KindUnit } from "#domain/ports/unit-details.ts";
import { UnitsUnavailable } from "#domain/ports/units.ts";
import { createFakeUnitDetails } from "../fakes/unit-details.ts";
import { createFakeUnits, runningUnit } from "../fakes/units.ts";
import { unitDetailsSuite } from "./unit-details.suite.ts";

describe("unit details: fake", () => {
  const state = { description: "", loadState: "loaded", activeState: "active", subState: "waiting", since: null };
  const rest = { unitFileState: "static", result: "success" };
  unitDetailsSuite(() => {
    const others: KindUnit[] = [
      {
        ...{ name: "suite-told.socket", kind: "socket", ...state, ...rest },
        socket: {
          units: ["suite-told.service"],
          listens: [{ type: "Stream", address: "/run/suite-told.sock" }],
          accepts: false,
          connections: 0,
        },
      },
      {
        ...{ name: "suite-told.timer", kind: "timer", ...state, ...rest },
        timer: {
          unit: "suite-told.service",
          lastAt: null,
          nextAt: Date.now() + 3_600_000,
          rules: ["OnCalendar=hourly"],
        },
      },
    ];
    return Promise.resolve({
      details: createFakeUnitDetails(createFakeUnits([runningUnit("suite-told.service")]), {}, others),
      install(name: string) {
        others.push({ ...state, ...rest, name, kind: "timer", loadState: "", activeState: "inactive" });
        return Promise.resolve();
      },
      dispose: () => undefined,
    });
  });
});

describe("unit details without systemd", () => {
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "units-"));
    mkdirSync(join(root, "etc/systemd/system/timers.target.wants"), { recursive: true });
    writeFileSync(
      join(root, "etc/systemd/system/a.timer"),
      "[Unit]\nDescription=A\n[Install]\nWantedBy=timers.target\n",
    );
    symlinkSync("../a.timer", join(root, "etc/systemd/system/timers.target.wants/a.timer"));
    writeFileSync(join(root, "etc/systemd/system/a.service"), "[Unit]\nDescription=A\n");
  });
  afterAll(() => rmSync(root, { recursive: true }));

  it("are those of the files that are installed", async () => {
    const details = createOfflineDetails(root);
    const { units, total } = await details.list({ kinds: ["timer", "service"], activeState: undefined, limit: 1 });
    expect([units.map(({ name }) => name), total]).toEqual([["a.service"], 2]);
    const timers = await details.list({ kinds: ["timer"], activeState: undefined, limit: 9 });
    // And nothing beside: facts of other kinds would be told as theirs.
    expect(timers.units).toEqual([
      {
        ...{ name: "a.timer", kind: "timer", description: "A", loadState: "", activeState: "inactive" },
        ...{ subState: "dead", unitFileState: "enabled", since: null, result: "" },
      },
    ]);
    expect((await details.list({ kinds: ["timer"], activeState: "active", limit: 9 })).total).toBe(0);
    await expect(details.inspect("a.service")).rejects.toThrow(UnitsUnavailable);
  });
});
