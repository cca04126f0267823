import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMasking } from "./mask.ts";

const masking = createMasking(12_345);
const encoder = new TextEncoder();
const maskedOf = (message: string): string => {
  const bytes = encoder.encode(message);
  masking.read(bytes, 0, bytes.length, 1);
  return masking.text();
};
const numberOf = (message: string, salt = 1): number => {
  const bytes = encoder.encode(message);
  return masking.read(bytes, 0, bytes.length, salt);
};

describe("a masked message", () => {
  it.each([
    ["Started session", "Started session"],
    ["Accepted publickey for root from 192.0.2.7 port 50022 ssh2", "Accepted publickey for root from <*> port <*> <*>"],
    ["Server listening on :: port 22.", "Server listening on :: port <*>."],
    ["at 2026-11-28T10:00:00.123+01:00 done", "at <*> done"],
    ["from [2001:db8::dead:beef]:443", "from [<*>]:<*>"],
    ["cannot open /etc/passwd: Permission denied", "cannot open <*>: Permission denied"],
    ["nginx.service: Main process exited", "<*>: Main process exited"],
    ["mail to admin@example.org failed", "mail to <*> failed"],
    ["commit deadbeef and beadfeed", "commit <*> and <*>"],
    ["the cafe is bad", "the cafe is bad"],
    ["Well... that was it.", "Well... that was it."],
    ["unit 'foo bar' and \"baz\" and `qux'", "unit '<*>' and \"<*>\" and `<*>'"],
    ["don't panic, it won't help", "don't panic, it won't help"],
    ["uid=0 comm=cron rhost= user=root", "uid=<*> comm=<*> rhost=<*> user=<*>"],
    ["rhost=", "rhost=<*>"],
    ["10:11:12:13", "<*>"],
    ["and/or", "and/or"],
    ["  many   spaces\t here  ", "many spaces here"],
    ["first line 1\nsecond line", "first line <*>"],
    ["bell\u0007 and \u001b[31m red", "bell and [<*> red"],
    [
      '{"level":"info","n":5,"msg":"user alice came in 3 s","ok":true}',
      '{"level":"<*>","n":<*>,"msg":"user alice came in <*> s","ok":true}',
    ],
    ['{"msg":"said \\"no\\" twice","by":"x"}', '{"msg":"said \\"no\\" twice","by":"<*>"}'],
    ['ts=1 msg="request done" status=200', 'ts=<*> msg="request done" status=<*>'],
    ["Grüße aus Köln", "Grüße aus Köln"],
    ["", ""],
  ])("of %j is %j", (message, masked) => {
    expect(maskedOf(message)).toBe(masked);
  });

  it("has a bounded length", () => {
    for (const message of [
      "word ".repeat(10_000),
      '"'.repeat(10_000),
      "a=".repeat(10_000),
      "9".repeat(10_000),
      `"${"x".repeat(40)}":`.repeat(99),
    ]) {
      const masked = maskedOf(message);
      expect(masked.length).toBeLessThan(2_000);
      expect(masked.length).toBeGreaterThan(0);
    }
  });

  it("is the same whatever the numbers are", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(), { minLength: 1, maxLength: 9 }),
        fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
        (left, right) => {
          const write = (numbers: readonly number[]) => left.map((_, at) => `word ${numbers[at]}`).join(", ");
          expect(maskedOf(write(left))).toBe(maskedOf(write(right)));
        },
      ),
    );
  });

  it("has no control characters for any bytes, and the same number for the same bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), fc.nat({ max: 50 }), (bytes, start) => {
        const from = Math.min(start, bytes.length);
        const number = masking.read(bytes, from, bytes.length, 7);
        const text = masking.text();
        expect(text).not.toMatch(/\p{Cc}/u);
        expect(Number.isSafeInteger(number)).toBe(true);
        expect(masking.read(bytes.slice(from), 0, bytes.length - from, 7)).toBe(
          from === 0 ? number : masking.read(bytes, from, bytes.length, 7),
        );
      }),
    );
  });
});

describe("the number of a masked message", () => {
  it("depends on its origin and its constant words alone", () => {
    expect(numberOf("user 1 came")).toBe(numberOf("user 2 came"));
    expect(numberOf("user 1 came")).not.toBe(numberOf("user 1 went"));
    expect(numberOf("user 1 came")).not.toBe(numberOf("user 1 came", 2));
    expect(createMasking(1).read(encoder.encode("a"), 0, 1, 1)).not.toBe(
      createMasking(2).read(encoder.encode("a"), 0, 1, 1),
    );
  });

  it("of the first word is the same for every message that begins with it", () => {
    numberOf("GET something");
    const first = masking.firstWord();
    numberOf("GET another thing");
    expect(masking.firstWord()).toBe(first);
    numberOf("GETS another thing");
    expect(masking.firstWord()).not.toBe(first);
  });

  it("of the first word is the same read alone or with the message", () => {
    const starts = fc.constantFrom(
      "GET",
      "10.0.0.1",
      "/srv/x",
      "a.b.",
      "uid=0",
      '"quoted',
      "x:",
      "well...",
      "deadbeef",
      "é",
    );
    fc.assert(
      fc.property(starts, fc.string({ unit: "binary" }), fc.nat({ max: 9 }), (first, rest, salt) => {
        const bytes = encoder.encode(`${first} ${rest}`);
        const alone = masking.readFirstWord(bytes, 0, bytes.length, salt);
        masking.read(bytes, 0, bytes.length, salt);
        if (alone !== undefined) expect(alone).toBe(masking.firstWord());
      }),
    );
    expect(masking.readFirstWord(encoder.encode("GET it"), 0, 6, 1)).toBeDefined();
    for (const message of ["GET", " GET it", '"GET it"', ""])
      expect(masking.readFirstWord(encoder.encode(message), 0, encoder.encode(message).length, 1)).toBeUndefined();
  });
});
