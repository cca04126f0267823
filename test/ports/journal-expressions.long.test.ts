import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileExpression } from "#domain/logs/expression.ts";
import { ExpressionUnsupported } from "#domain/logs/expression-tree.ts";
import { createFolder, fileKinds, type JournalFolder } from "../journals/corpora.ts";
import { boots, start } from "../journals/entries.ts";
import { byLength } from "../journals/known.ts";
import { canMakeJournals, runJournalctl } from "../journals/programs.ts";
import { asciiTexts, expressions } from "../journals/random-expressions.ts";
import { seed } from "../support/seed.ts";

const messages = [
  ...fc.sample(asciiTexts, { numRuns: 400, seed: 1 }),
  ..."abc ABC digit [:d] a.b axb Q.E ab ab\n ab\n\n xab ahb RN pL Lu Serror terror ERROR 5".split(" "),
];
const numRuns = byLength(150, 4_000);

/** Messages that the expression finds, by position; undefined where it is refused. */
function found(expression: string): readonly number[] | undefined {
  try {
    const { test } = compileExpression(expression);
    return messages.flatMap((message, at) => (test(message) ? [at] : []));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof ExpressionUnsupported) return undefined;
    throw error;
  }
}

describe.skipIf(!canMakeJournals())("expressions", () => {
  let folder: JournalFolder;

  beforeAll(() => {
    const [kind] = fileKinds;
    const made = createFolder(kind);
    folder = made;
    const entries = messages.map((message, at) => ({
      bootId: boots[0] ?? "",
      realtime: start + at,
      monotonic: 1 + at,
      fields: [["MESSAGE", message] as const],
    }));
    made.writer.append("system.journal", entries);
  });
  afterAll(() => folder?.remove());

  /** The same of `journalctl -g`; undefined where it refuses the expression. */
  function foundByJournalctl(expression: string): readonly number[] | undefined {
    const args = ["-D", folder.path, "-q", "-o", "json", "--output-fields=__CURSOR", `--grep=${expression}`];
    const { status, stdout, stderr } = runJournalctl(args);
    if (status !== 0 && stderr !== "") return undefined;
    const lines = stdout
      .toString()
      .split("\n")
      .filter((line) => line !== "");
    return lines.map((line) => Number((JSON.parse(line) as Record<string, string>)["__REALTIME_TIMESTAMP"]) - start);
  }

  it("find what journalctl -g finds, or are refused", { timeout: 600_000 }, () => {
    let compared = 0;
    fc.assert(
      fc.property(expressions, (expression) => {
        const own = found(expression);
        if (own === undefined || expression === "") return;
        const theirs = foundByJournalctl(expression);
        if (theirs === undefined) return;
        expect([expression, own]).toEqual([expression, theirs]);
        compared += 1;
      }),
      { numRuns, seed },
    );
    expect(compared).toBeGreaterThan(numRuns / 10);
  });

  it.each([
    ..."[[:digit:]] \\Qa.b\\E \\Aab \\ab\\z a\\hb ab$ ab\\Z \\H \\R \\N a\\Kb \\Gab \\e \\o{101} \\pL \\p{Lu} \\Serror \\Bb \\Qab".split(
      " ",
    ),
    ..."^ab$ (?i)ERROR (?s)a.b [^[:alpha:]] a{2} x{ {a} [\\w.-]+ \\cJ \\x0a \\012 \\D{3} (a|B)+$ \\s\\S \\v\\V".split(
      " ",
    ),
  ])("find what journalctl -g finds: %s", (expression) => {
    expect(found(expression)).toEqual(foundByJournalctl(expression));
  });
});
