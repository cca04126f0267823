import { once } from "node:events";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { MatchReply, MatchRequest } from "./support/match-thread.ts";

const length = 20_000;
const newThread = (): Worker => new Worker(new URL("./support/match-thread.ts", import.meta.url));
let thread = newThread();
afterAll(() => thread.terminate());

/** Matches in a thread, which is ended with the test: what takes exponential time continues for years. */
async function match(request: MatchRequest, signal: AbortSignal): Promise<MatchReply> {
  try {
    const reply = once(thread, "message", { signal });
    thread.postMessage(request);
    const [matches] = (await reply) as [MatchReply];
    return matches;
  } catch (error) {
    await thread.terminate();
    thread = newThread();
    throw error;
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
  it.for<[string, string, string, boolean]>([
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
  ])("are matched to the end, or refused: %s", async ([expression, part, end, matches], { signal }) => {
    const text = part.repeat(length / part.length) + end;
    expect(await match({ expression, text }, signal)).toBe(matches);
  });

  it("are matched to the end, or refused, whatever they are [size-and-time-limits]", async ({ signal }) => {
    const replies = new Set<MatchReply>();
    await fc.assert(
      fc.asyncProperty(expressions, texts, async (expression, text) => {
        replies.add(await match({ expression, text }, signal));
      }),
      { numRuns: Number(process.env["STEWARD_FUZZ_RUNS"] ?? 150), endOnFailure: true },
    );
    expect(replies).toEqual(new Set([true, false, "refused"]));
  });
});
