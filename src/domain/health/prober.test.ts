import { describe, expect, it } from "vitest";
import { checkOwnAddress, statusWords } from "./prober.ts";

const well = { healthy: true, expected: true };

describe("the status line of the service", () => {
  it("names unhealthy components that are expected", () => {
    const unexpected = { healthy: false, expected: false };
    expect(statusWords("http://[::1]:1", { cli: well, llm: unexpected })).toBe("Ready on http://[::1]:1");
    const broken = { healthy: false, expected: true };
    expect(statusWords("x", { ops: broken, llm: unexpected, own: broken })).toBe("Ready on x, unhealthy: ops, own");
  });
});

describe("the check of the own address", () => {
  const full = { isFull: () => true, answered: () => 0 };
  const roomy = { isFull: () => false, answered: () => 7 };
  const { signal } = new AbortController();
  const turnedAway = () => Promise.reject(new Error("socket hang up"));

  it("passes with an answer, and reports why there is none", async () => {
    expect(await checkOwnAddress(() => Promise.resolve(well), full)(signal)).toBeUndefined();
    expect(await checkOwnAddress(turnedAway, roomy)(signal)).toBe("socket hang up");
    const refused = { healthy: false, expected: true, reason: "own address answers 500" };
    expect(await checkOwnAddress(() => Promise.resolve(refused), roomy)(signal)).toBe("own address answers 500");
  });

  it("ignores a flood of requests or connections while some are answered", async () => {
    let count = 0;
    const busy = { isFull: () => false, answered: () => (count += 1) };
    expect(await checkOwnAddress(turnedAway, busy)(signal)).toBeUndefined();
    expect(await checkOwnAddress(turnedAway, full)(signal)).toBeUndefined();
  });
});
