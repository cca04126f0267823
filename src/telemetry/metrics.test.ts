import { expect, it } from "vitest";
import { describedMetrics, labelSets, metricLabels } from "../../test/process/support/metric-labels.ts";
import { parseMetrics } from "../../test/process/support/metrics.ts";
import { createMetrics } from "./metrics.ts";

const labelled = Object.fromEntries(Object.entries(metricLabels).map(([name, labels]) => [name, [labels]]));

it("every metric has exactly its labels, once it has been counted", async () => {
  const metrics = createMetrics();
  metrics.request({ method: "GET", endpoint: "/livez", status: 200, seconds: 0.1 });
  metrics.componentUp("ops", true);
  metrics.notification("chat", "sent");
  metrics.streamClients("logs", 1);
  metrics.streamDropped("logs", 1);
  metrics.checkRun("disk_usage", "pass", 0.1);
  metrics.updatesAvailable("all", 1);
  metrics.fixRun("apt_update", true);
  metrics.modelCall({ connector: "local", result: "success", seconds: 1, tokens: { input: 1, output: 1 } });
  metrics.pluginRun("greet", "success");
  metrics.journalFault();
  metrics.traceSpans("kept", 1);
  metrics.deprecatedRequest("listLegacy");
  const text = await metrics.text();
  expect(
    describedMetrics(text)
      .filter((name) => name.startsWith("svc_"))
      .sort(),
  ).toEqual(Object.keys(metricLabels).sort());
  expect(labelSets(parseMetrics(text))).toEqual(labelled);
});

it("a removed check or plugin leaves no series", async () => {
  const metrics = createMetrics();
  metrics.checkRun("age", "fail", 0.1);
  for (const result of ["success", "failure", "veto"]) metrics.pluginRun("age", result);
  metrics.checkGone("age");
  metrics.pluginGone("age");
  expect(await metrics.text()).not.toContain('"age"');
});
