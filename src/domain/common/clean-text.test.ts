import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleaned } from "./clean-text.ts";

describe("what a model reads", () => {
  it.each([
    ["variation selectors", "a\ufe0f\u{e0100}b"],
    ["fillers", "a\u3164\u115f\uffa0b"],
    ["joiners", "a\u034f\u2060\u180eb"],
    ["tags and directions", "a\u{e0041}\u202e\u2066b"],
    ["control sequences", "a\u001b[31m\u001b]8;;https://example.org\u0007b"],
  ])("has no %s", (_, text) => {
    expect(cleaned({ message: [text] })).toEqual({ message: ["ab"] });
  });

  it("keeps what must be sent back, also where it has the shape of a secret", () => {
    const random =
      "plan_o9jiYdiA3XpJqMv0.mx1tz7dq.jy_GAfR9mxahATTbeyJkRZM-xDKx0NFpN1ZCE9LYvog.T65wA1k4o4ZutvV0CEXbei8Dvahq";
    const answer = { plan_token: random, cursor: random, next_cursor: random };
    expect(cleaned({ ...answer, message: random })).toEqual({
      ...answer,
      message: expect.stringContaining("[redacted]"),
    });
    expect(cleaned({ cursor: "a\u202eb password=hunter2hunter2" })).toEqual({ cursor: "ab password=[redacted]" });
  });

  it("is the same when it is cleaned again", () => {
    const parts = fc.constantFrom(
      "\u001b",
      "[31m",
      "]8;;",
      "\u0007",
      "\u200b",
      "password=",
      "hunter2hunter2",
      " ",
      "\n",
      "sk-",
      "ey",
      "J",
    );
    const text = fc.array(fc.oneof(parts, fc.string({ unit: "binary" })), { maxLength: 12 }).map((all) => all.join(""));
    fc.assert(
      fc.property(text, (each) => {
        expect(cleaned(cleaned(each))).toBe(cleaned(each));
      }),
    );
  });
});
