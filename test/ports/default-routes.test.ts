import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDefaultRoutes } from "#adapters/routes/index.ts";
import { createFakeDefaultRoutes } from "../fakes/default-routes.ts";

let procNet: string;
beforeAll(() => {
  procNet = mkdtempSync(join(tmpdir(), "steward-routes-"));
  writeFileSync(
    join(procNet, "route"),
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n" +
      "lo\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" +
      "nosuch0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n",
  );
});
afterAll(() => rmSync(procNet, { recursive: true }));

const expected = [
  { family: "ipv4", interface: "lo", gateway: "192.0.2.1", isUp: true },
  { family: "ipv4", interface: "nosuch0", gateway: null, isUp: false },
] as const;

/** Whatever this machine has. */
const noOther = () => Promise.resolve([]);

describe.each([
  ["fake", () => createFakeDefaultRoutes(expected), () => createFakeDefaultRoutes([])],
  ["procfs", () => createDefaultRoutes(procNet, noOther), () => createDefaultRoutes("/nonexistent", noOther)],
])("default routes: %s", (_, make, makeNone) => {
  it("are listed with their gateway and the state of their interface", async () => {
    expect(await make().list()).toEqual(expected);
  });

  it("may be none", async () => {
    expect(await makeNone().list()).toEqual([]);
  });
});
