import { describe } from "vitest";
import { createFakeUnitRepair } from "../fakes/unit-repair.ts";
import { unitRepairSuite } from "./unit-repair.suite.ts";

const failed = { activeState: "failed", subState: "failed", result: "exit-code" };

// On real systemd it runs in test/host/unit-repair.host.test.ts.
describe("unit repair: fake", () => {
  unitRepairSuite(() =>
    Promise.resolve({
      units: createFakeUnitRepair([
        { name: "good.service", ...failed },
        { name: "mnt-good.mount", ...failed },
        { name: "bad.service", ...failed, jobResult: "failed", after: failed },
      ]),
      recovering: ["good.service", "mnt-good.mount"],
      failing: "bad.service",
      dispose: () => Promise.resolve(),
    }),
  );
});
