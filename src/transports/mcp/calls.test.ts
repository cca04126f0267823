import { describe, expect, it } from "vitest";
import { toResult } from "./calls.ts";

const steps = Array.from({ length: 5_000 }, (_, at) => `remove package-${at} of the host`);
const answer = (status: number, body: Record<string, unknown>) => ({
  status,
  bytes: Buffer.byteLength(JSON.stringify(body)),
  body,
});

describe("an answer that is too long for a tool", () => {
  const limit = expect.stringContaining("and a tool answers 65536 at most");

  it("is refused where nothing was done", () => {
    const { isError, structuredContent } = toResult(answer(200, { dry_run: true, steps }));
    expect([isError, structuredContent]).toEqual([true, { error: { code: "VALIDATION_ERROR", message: limit } }]);
  });

  it("says that something was done, with the members that are short", () => {
    const { isError, structuredContent } = toResult(answer(200, { success: true, id: "1", steps }), true);
    expect([isError, structuredContent]).toEqual([undefined, { success: true, id: "1", omitted: limit }]);
    expect(structuredContent["omitted"]).toMatch(/^it was done; /);
  });

  it("keeps the code, the message and the reason of an error, also of megabytes", () => {
    for (const times of [1, 10]) {
      const details = { reason: "plan_required", plan: { steps: Array.from({ length: times }, () => steps) } };
      const error = { code: "CONFLICT", message: "takes a plan", details };
      const { isError, structuredContent } = toResult(answer(409, { error }), true);
      const kept = { code: "CONFLICT", message: "takes a plan", details: { reason: "plan_required", omitted: limit } };
      expect([isError, structuredContent]).toEqual([true, { error: kept }]);
    }
  });
});
