import { expect, it } from "vitest";
import { ending } from "./ending.ts";

it("ends when its time is over", async () => {
  await expect(ending(0.0001)).resolves.toBeUndefined();
});

it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("ends with %s, and listens no more", async (signal) => {
  const before = process.listenerCount(signal);
  const ended = ending(1);
  process.emit(signal, signal);
  await ended;
  expect(process.listenerCount(signal)).toBe(before);
});
