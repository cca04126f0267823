import { expect, it } from "vitest";
import { lazy } from "./async.ts";

it("does lazy work once, and again where it failed", async () => {
  const results = [Promise.reject(new Error("not yet")), Promise.resolve("result")];
  let calls = 0;
  const load = lazy(() => {
    calls += 1;
    return results.shift() ?? Promise.reject(new Error("called too often"));
  });
  expect(calls).toBe(0);
  await expect(load()).rejects.toThrow("not yet");
  expect(await Promise.all([load(), load()])).toEqual(["result", "result"]);
  expect(calls).toBe(2);
});
