import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Length } from "#kernel/text.ts";
import { answerText } from "./answers.ts";

describe("an answer that a model is given", () => {
  it("is what was answered, without secrets and what lets somebody carry out a plan", () => {
    const plan = { steps: ["stop it"], plan_token: "plan_x", plan_expires_at: "2026-01-01T00:00:00Z" };
    const body = { plan, deep: [{ error: { details: { plan } } }], env: "PASSWORD=hunter2secret", next_cursor: "s=1" };
    const { text, redactions } = answerText(body, 0);
    const shown = { steps: ["stop it"] };
    expect(JSON.parse(text)).toEqual({
      plan: shown,
      deep: [{ error: { details: { plan: shown } } }],
      env: "PASSWORD=[redacted]",
      next_cursor: "s=1",
    });
    expect(redactions).toBe(1);
  });

  it("has the start of long lists and texts, and says what is missing", () => {
    const logs = Array.from({ length: 500 }, (_, at) => ({ message: `${at} ${"x".repeat(100)}` }));
    const { text } = answerText({ total: 500, logs }, 0);
    const shown = JSON.parse(text) as { total: number; logs: readonly unknown[] };
    expect(shown.total).toBe(500);
    expect(shown.logs.slice(0, 50)).toEqual(logs.slice(0, 50));
    expect(shown.logs.at(-1)).toBe(`[${501 - shown.logs.length} more left out: narrow it, or ask for fewer]`);
    expect(answerText({ text: "y".repeat(100_000) }, 0).text).toMatch(/^\{"text":"y+…\[\d+ bytes cut off\]"\}$/);
    expect(answerText(undefined, 0).text).toContain("the answer is too long: narrow it");
  });

  it("is bounded for anything, and by what the model was given before", () => {
    const anything = fc.dictionary(fc.string({ maxLength: 300 }), fc.jsonValue({ maxDepth: 6 }), { maxKeys: 400 });
    const list = fc.array(fc.string({ minLength: 50, maxLength: 2000 }), { maxLength: 400 });
    fc.assert(
      fc.property(anything, list, fc.nat(100_000), (body, texts, used) => {
        const bytes = utf8Length(answerText({ ...body, texts }, used).text);
        expect(bytes).toBeLessThanOrEqual(Math.max(512, Math.min(12 * 1024, 72 * 1024 - used)));
      }),
      { numRuns: 50 },
    );
  });
});
