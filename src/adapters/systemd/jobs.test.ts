import { expect, it } from "vitest";
import { createJobs } from "./session.ts";

const removed = (path: string, result: string) => ({
  path: "/",
  interface: "m",
  member: "JobRemoved",
  body: [1, path, "a.service", result],
});

it("the result of a systemd job is known whether it comes after the question or before", async () => {
  const jobs = createJobs();
  const waiting = jobs.result("/job/1");
  jobs.onSignal(removed("/job/1", "done"));
  jobs.onSignal(removed("/job/2", "failed"));
  jobs.onSignal({ path: "/", interface: "m", member: "UnitNew", body: [] });
  expect([await waiting, await jobs.result("/job/1"), await jobs.result("/job/2")]).toEqual(["done", "done", "failed"]);
});

it("waiting for a systemd job ends as lost when the connection is cleared", async () => {
  const jobs = createJobs();
  const waiting = jobs.result("/job/1");
  jobs.clear();
  expect(await waiting).toBe("lost");
});

it("results of systemd jobs are kept in a bounded number", async () => {
  const jobs = createJobs();
  for (let job = 0; job < 1000; job += 1) jobs.onSignal(removed(`/job/${job}`, "done"));
  expect(await Promise.race([jobs.result("/job/0"), Promise.resolve("forgotten")])).toBe("forgotten");
  expect(await jobs.result("/job/999")).toBe("done");
});
