import { afterAll, beforeAll, expect, it } from "vitest";
import { formatSoak } from "../../scripts/soak/report.ts";
import { soak } from "../../scripts/soak/run.ts";
import { processTarget, type Target } from "../../scripts/soak/target.ts";
import { type ModelServer, startModelServer } from "./support/model-server.ts";

let model: ModelServer;
let target: Target;

beforeAll(async () => {
  model = await startModelServer();
  target = await processTarget(model.url);
});
afterAll(async () => {
  await target?.stop();
  await model?.close();
});

/** The short form of `npm run soak`: what is lost with every call, or breaks when it ends, shows in it too. */
it("a service holds a steady load over reloads, restarts and kills", { timeout: 900_000 }, async () => {
  const options = { minutes: 0.4, readsPerSecond: 20, restarts: 1, kills: 8, say: () => undefined };
  const result = await soak(target, options);
  expect(result.failures, formatSoak(result, target.words)).toEqual([]);
  expect(result.tally.streams).toBeGreaterThan(5);
  expect(result.tally.mutations).toBeGreaterThan(10);
  expect(result.reloads).toBeGreaterThan(0);
});
