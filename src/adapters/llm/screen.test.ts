import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createScreen, screened } from "./scrub.ts";

const secret = "sk-abcabcabd-0123";

describe("a screen", () => {
  it("takes secrets out, and nothing that is as short as a word", () => {
    expect(screened(`it is ${secret}${secret}, ok admin`, [secret, "admin"])).toBe(
      "it is [redacted][redacted], ok admin",
    );
  });

  it("knows a secret in whatever pieces it comes, and changes nothing else", () => {
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
