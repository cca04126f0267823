import { expect, it } from "vitest";
import { createJobs } from "./session.ts";

const removed = (path: string, result: string) => ({
  path: "/",
  interface: "m",
  member: "JobRemoved",
  body: [1, path, "a.service", result],
});

it("gives a result that comes after the question, and one that came before", async () => {
  const jobs = createJobs();
  const waiting = jobs.result("/job/1");
  jobs.onSignal(removed("/job/1", "done"));
  jobs.onSignal(removed("/job/2", "failed"));
  jobs.onSignal({ path: "/", interface: "m", member: "UnitNew", body: [] });
  expect([await waiting, await jobs.result("/job/1"), await jobs.result("/job/2")]).toEqual(["done", "done", "failed"]);
});

it("tells those who wait when nothing will come any more", async () => {
  const jobs = createJobs();
  const waiting = jobs.result("/job/1");
  jobs.clear();
  expect(await waiting).toBe("lost");
});

it("keeps only so many", async () => {
  const jobs = createJobs();
  for (let job = 0; job < 1000; job += 1) jobs.onSignal(removed(`/job/${job}`, "done"));
  expect(await Promise.race([jobs.result("/job/0"), Promise.resolve("forgotten")])).toBe("forgotten");
  expect(await jobs.result("/job/999")).toBe("done");
});
