import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { MatchReply, MatchRequest } from "./support/match-thread.ts";

/** What takes exponential time here goes on for years; what does not is done in far less than this on any machine. */
const boundMs = 30_000;
const length = 20_000;

let thread = new Worker(new URL("./support/match-thread.ts", import.meta.url));
afterAll(() => thread.terminate());

/** Matches in a thread, which is ended when it does not come to an end. */
async function match(request: MatchRequest): Promise<MatchReply | "no end"> {
  const answer = Promise.withResolvers<MatchReply | "no end">();
  const late = setTimeout(() => answer.resolve("no end"), boundMs);
  const onError = (error: Error): void => answer.reject(error);
  thread.once("message", answer.resolve).once("error", onError);
  thread.postMessage(request);
  try {
    const reply = await answer.promise;
    if (reply === "no end") {
      await thread.terminate();
      thread = new Worker(new URL("./support/match-thread.ts", import.meta.url));
    }
    return reply;
  } finally {
    clearTimeout(late);
    thread.removeListener("message", answer.resolve).removeListener("error", onError);
  }
}

/** Expressions that nest what repeats, over letters that the texts are made of. */
const evil = fc.letrec<{ atom: string; repeated: string; sequence: string; group: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 4, depthIdentifier: "evil" },
    { arbitrary: fc.constantFrom("a", "b", ".", "\\w", "\\W", "[ab]", "[^b]", "[a-z]", "ä", "\\p{L}"), weight: 2 },
    { arbitrary: tie("group"), weight: 3 },
  ),
  repeated: fc
    .tuple(tie("atom"), fc.constantFrom("*", "+", "?", "*?", "+?", "{0,3}", "{1,30}", "{20}", "{2,}", ""))
    .map((parts) => parts.join("")),
  sequence: fc.array(tie("repeated"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
  group: fc.array(tie("sequence"), { minLength: 1, maxLength: 3 }).map((branches) => `(${branches.join("|")})`),
})).group;
const expressions = fc
  .tuple(
    fc.constantFrom("", "^", "\\b"),
    evil,
    fc.constantFrom("*", "+", "{1,30}", ""),
    fc.constantFrom("$", "!$", "c", "\\b!", ""),
  )
  .map((parts) => parts.join(""));
const texts = fc
  .tuple(fc.constantFrom("a", "ab", "b", "a ", "aä", "aab", "😀a"), fc.constantFrom("", "!", "c", "\n"))
  .map(([part, end]) => part.repeat(length / part.length) + end);

describe("regular expressions of clients", () => {
  it.each([
    ["^(a|aa)+$", "a", "!", false],
    ["^(a+)+$", "a", "!", false],
    ["(a*)*b", "a", "", false],
    ["(x+x+)+y", "x", "", false],
    ["(.*)*=(.*)*;", "=", "", false],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", "a", "", false],
    ["(a|a|a|a)*(a|a|a|a)*(a|a|a|a)*$", "a", "", true],
    ["(a?){30}a{30}b", "a", "", false],
    ["(a{1,40}){1,40}b", "a", "", false],
    ["(\\w+\\s?)+!$", "word ", "", false],
    [`${"(a|b|ab)".repeat(40)}!`, "ab", "", false],
    [".*.*.*.*.*.*=x", "=", "", false],
    ["(a|b)*a(a|b){500}c", "ab", "", false],
  ])("are matched to the end, or refused: %s", async (expression, part, end, matches) => {
    const text = part.repeat(length / part.length) + end;
    expect(await match({ expression, text })).toBe(matches);
  });

  it("are matched to the end, or refused, whatever they are", async () => {
    const replies: (MatchReply | "no end")[] = [];
    await fc.assert(
      fc.asyncProperty(expressions, texts, async (expression, text) => {
        const reply = await match({ expression, text });
        replies.push(reply);
        expect([expression, text.slice(0, 4), reply]).not.toContain("no end");
      }),
      { numRuns: Number(process.env["STEWARD_FUZZ_RUNS"] ?? 150), endOnFailure: true },
    );
    expect(new Set(replies)).toEqual(new Set([true, false, "refused"]));
  }, 600_000);
});
