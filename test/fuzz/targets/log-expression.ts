import { createContext, runInContext } from "node:vm";
import { compileExpression } from "#domain/logs/expression.ts";
import { ExpressionUnsupported, readExpression, toJavaScript } from "#domain/logs/expression-tree.ts";
import type { Random } from "../../support/random.ts";
import { expectThat, type FuzzTarget } from "../target.ts";

/*
 * An input is an expression and texts, each on a line of its own, as UTF-8. What the engine of the language says of the texts is what
 * must be stated; where it takes too long it says nothing.
 */

const mostTexts = 4;
const mostCharacters = 24;
const expressionLength = 256;
const engineMs = 50;
/** A text that is as long as a line of a log may be. */
const copies = 40;

const pieces = [
  ..."a b A . ^ $ | ( ) (?: (?<n> [ ] [^ - * + ? {2} {0,3} {2,} *? +? ?? \\b \\B \\w \\W \\d \\s \\S \\. \\n \\0 \\x41 \\x{1F600} \\u0041".split(
    " ",
  ),
  ..."\\p{L} \\P{Lu} [\\b] [a-z] [^a] [\\w-a] [] [^] \\1 \\k<n> (?= (?! (?<= (?i: (?s) [[:alpha:]] \\Q \\E \\A \\z \\Z \\R \\N \\h \\K \\o{101} \\c \\cA \\8 {, } {1 ſ K 😀 é _ \\- \\/ \\x".split(
    " ",
  ),
];
const seeds = [
  "^(a|aa)+$\naaaa\naaab",
  "took [0-9]{1,3} ms\ntook 12 ms\ntook x ms",
  "(?:error|fail(?:ed|ure)?)\\b\nfailed\nerrors\nfailure.",
  "\\bcron\\[\\d+\\]: \\(root\\)\ncron[1]: (root)\nacron[1]: (root)",
  "[^a-z]+x{2,4}?$\n12xx\n12xxxxx",
  "\\p{Lu}\\S*\\s\nHello you\nhello",
  "(?<year>\\d{4})-\\d\\d\n2026-01\n26-01",
  "^$|^\\s*#\n\n # x",
  "(x+x+)+y\nxxxxxxxx\nxxxy",
  "(?:a{64}){3}b\naaa\nb",
  "\\x{1F600}|\\x{61}\n😀\nx",
  "a\\-b{\na-b{\nab",
];

/** Puts a piece of the language in, or takes a bracket's content twice. */
function mutate(input: Buffer, random: Random): Buffer {
  const [expression = "", ...texts] = input.toString("utf8").split("\n");
  const at = random.integer(expression.length + 1);
  const end = random.chance(0.5) ? at : Math.min(expression.length, at + 1 + random.integer(4));
  const piece = random.chance(0.8) ? random.pick(pieces) : expression.slice(random.integer(at + 1), at);
  const changed = `${expression.slice(0, at)}${piece}${expression.slice(end)}`;
  return Buffer.from([changed, ...texts].join("\n"));
}

export const target: FuzzTarget = {
  maxBytes: 512,
  maxSteps: 100_000_000,
  dictionary: () => pieces,
  seeds: () => seeds.map((text) => Buffer.from(text)),
  mutate,
  open() {
    const sandbox = { expression: "", text: "" };
    const context = createContext(sandbox);
    /** What the engine says of an expression that it takes; undefined where it does not come to an end. */
    const engine = (expression: string, text: string): boolean | undefined => {
      Object.assign(sandbox, { expression, text });
      try {
        return Boolean(runInContext("new RegExp(expression, 'v').test(text)", context, { timeout: engineMs }));
      } catch (error) {
        // It is an error of the other context.
        const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
        if (code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return undefined;
        throw error;
      }
    };
    return Promise.resolve({
      run(input) {
        const [expression = "", ...texts] = input.toString("utf8").split("\n");
        if (expression.length > expressionLength) return;
        let compiled: ReturnType<typeof compileExpression>;
        try {
          compiled = compileExpression(expression);
        } catch (error) {
          if (error instanceof SyntaxError || error instanceof ExpressionUnsupported) return;
          throw error;
        }
        const source = toJavaScript(readExpression(expression));
        for (const text of texts.slice(0, mostTexts).map((each) => each.slice(0, mostCharacters))) {
          const found = compiled.test(text);
          expectThat(compiled.test(text) === found, `a second search finds otherwise: ${expression}`);
          compiled.test(text.repeat(copies));
          const expected = engine(source, text);
          if (expected === undefined) continue;
          const shown = JSON.stringify({ expression, text });
          expectThat(
            found === expected,
            `it ${found ? "finds what is not there" : "does not find what is there"}: ${shown}`,
          );
        }
      },
    });
  },
};
