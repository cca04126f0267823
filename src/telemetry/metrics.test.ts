import { expect, it } from "vitest";
import { createMetrics } from "./metrics.ts";

it("a removed check or plugin leaves no series", async () => {
  const metrics = createMetrics();
  metrics.checkRun("age", "fail", 0.1);
  for (const result of ["success", "failure", "veto"]) metrics.pluginRun("age", result);
  metrics.checkGone("age");
  metrics.pluginGone("age");
  expect(await metrics.text()).not.toContain('"age"');
});
