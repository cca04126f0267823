import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createScreen, screened, scrub } from "./scrub.ts";

const key = "sk-proj-Abc123Def456Ghi789";

describe("a message of a provider", () => {
  it.each([
    [`Incorrect API key provided: ${key}.`, "Incorrect API key provided: [redacted]."],
    [`invalid x-api-key ${key.toUpperCase()}`, "invalid x-api-key [redacted]"],
    [
      "Incorrect API key provided: sk-pr***i789. You can find it",
      "Incorrect API key provided: [redacted] You can find it",
    ],
    ["the key sk-pr...i789 is wrong", "the key [redacted] is wrong"],
    ["the key sk-pr…i789 is wrong", "the key [redacted] is wrong"],
    ["it begins with sk-proj-Abc1 and is wrong", "it begins with [redacted] and is wrong"],
    [`Authorization: Bearer ${key}`, "Authorization: Bearer [redacted]"],
    ["Bearer eyJhbGciOi.J9.x was refused", "Bearer [redacted] was refused"],
    ["another key: api_key=0123456789abcdef", "another key: api_key=[redacted]"],
    ["not AIzaSyA1234567890abcdefghij either", "not [redacted] either"],
    ["at https://me:secret@example.org/v1", "at https://[redacted]@example.org/v1"],
    [`at ?key=${encodeURIComponent(key)}&x`, "at ?key=[redacted]&x"],
    [`"${Buffer.from(key).toString("base64")}"`, '"[redacted]"'],
    ["max_tokens is too large: 900000. This model supports at most 16384.", undefined],
    ["The model `gpt-9` does not exist or you do not have access to it.", undefined],
    ["Please wait... then try again", undefined],
    ["first\r\nsecond\tthird\u0000fourth\u202efifth", "first second third fourth fifth"],
  ])("is shown without keys: %j", (text, expected) => {
    expect(scrub(text, [key])).toBe(expected ?? text);
  });

  it("is shown up to a bounded length", () => {
    expect(scrub("word ".repeat(100_000), [])).toHaveLength(300);
  });

  it("never shows a part of the key", () => {
    const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+/=".split("");
    const secret = fc.string({ unit: fc.constantFrom(...letters), minLength: 8, maxLength: 80 });
    const anywhere = fc.oneof(fc.string(), fc.lorem(), fc.json());
    fc.assert(
      fc.property(secret, anywhere, anywhere, fc.nat(), fc.nat(), (planted, before, after, from, length) => {
        const start = from % (planted.length - 5);
        const piece = planted.slice(start, start + 6 + (length % planted.length));
        const shown = scrub(`${before}${piece}${after}${planted}`, [planted]).replaceAll("[redacted]", " ");
        for (let at = 0; at + 6 <= planted.length; at += 1) expect(shown).not.toContain(planted.slice(at, at + 6));
      }),
      { numRuns: 500 },
    );
  });
});

const secret = "sk-abcabcabd-0123";

describe("text screened for secrets", () => {
  it("has secrets redacted, unless they are as short as a word", () => {
    expect(screened(`it is ${secret}${secret}, ok admin`, [secret, "admin"])).toBe(
      "it is [redacted][redacted], ok admin",
    );
  });

  it("has a secret redacted however it is chunked", () => {
    const part = fc.constantFrom(secret, "sk-abc", "abc", "hello", "sk-abcabcab", "d-0123", " ");
    fc.assert(
      fc.property(fc.array(part), fc.array(fc.nat({ max: 20 })), (parts, cuts) => {
        const text = parts.join("");
        const screen = createScreen([secret, "another-secret"]);
        let shown = "";
        let at = 0;
        for (const cut of cuts) {
          shown += screen.push(text.slice(at, at + cut));
          expect(shown).not.toContain(secret);
          at += cut;
        }
        shown += screen.push(text.slice(at)) + screen.end();
        expect(shown).toBe(text.replaceAll(secret, "[redacted]"));
      }),
    );
  });
});
