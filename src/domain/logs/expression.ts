import { invalid } from "#domain/common/error.ts";
import { errorMessage } from "#kernel/errors.ts";
import { lowerFirst } from "#kernel/text.ts";
import { createAutomaton, maxSteps, sizeOf } from "./automaton.ts";
import { type ExpressionTree, type Literal, readExpression, toJavaScript } from "./expression-tree.ts";

export interface Expression {
  /** Takes time linear in the length of the text times the size of the expression. */
  readonly test: (text: string) => boolean;
  /** What it remembers of what it has seen, in bytes. */
  readonly held: () => number;
  /** Words of ASCII of which every text that fits has one; undefined where nothing is known. */
  readonly words: Words | undefined;
}

export interface Words {
  readonly anyOf: readonly Word[];
  /** Whether every text that has one fits. */
  readonly suffice: boolean;
}

export type Word = readonly Literal[];

/** Alternatives that V8's engine may try at each character: it tries them one after the other. */
const maxPaths = 64;
/** Length of a word that is worth searching for first. */
const minWordLength = 3;

/** Number of ways through an expression. */
function pathsOf(tree: ExpressionTree): number {
  switch (tree.kind) {
    case "sequence":
      return tree.parts.reduce((product, part) => product * pathsOf(part), 1);
    case "choice":
      return tree.branches.reduce((sum, branch) => sum + pathsOf(branch), 0);
    case "repeat": {
      if (tree.most > maxPaths) return Infinity;
      const each = pathsOf(tree.body);
      let paths = 0;
      for (let copies = tree.least; copies <= tree.most; copies += 1) paths += each ** copies;
      return paths;
    }
    case "character":
    case "boundary":
    case "edge":
      return 1;
  }
}

/** The longest run of single characters in every match. */
function requiredWord(tree: ExpressionTree): readonly string[] {
  let longest: readonly string[] = [];
  let run: string[] = [];
  for (const part of tree.kind === "sequence" ? tree.parts : []) {
    run = part.kind === "character" ? [...run, part.source] : [];
    if (run.length > longest.length) longest = run;
  }
  return longest;
}

/** Alternatives that are worth searching for at the same time. */
const maxWords = 8;
const shortest = (words: readonly Word[]): number => Math.min(...words.map(({ length }) => length));

function literalOf(tree: ExpressionTree): Word {
  const literal = tree.kind === "character" ? tree.literal : undefined;
  return literal !== undefined && /^[ -~]$/.test(literal.character) ? [literal] : [];
}

/** Words, one of which is in every match; none where it cannot be said. */
function wordsIn(tree: ExpressionTree): readonly Word[] {
  switch (tree.kind) {
    case "sequence": {
      let run: Word = [];
      let best: readonly Word[] = [];
      for (const part of tree.parts) {
        const literal = literalOf(part);
        run = literal.length > 0 ? [...run, ...literal] : [];
        const words = run.length > 0 ? [run] : wordsIn(part);
        if (words.length > 0 && (best.length === 0 || shortest(words) > shortest(best))) best = words;
      }
      return best;
    }
    case "choice": {
      const words = tree.branches.map(wordsIn);
      return words.some(({ length }) => length === 0) ? [] : words.flat().slice(0, maxWords + 1);
    }
    case "repeat":
      return tree.least > 0 ? wordsIn(tree.body) : [];
    case "character":
      return [literalOf(tree)].filter(({ length }) => length > 0);
    case "boundary":
    case "edge":
      return [];
  }
}

function wordsOf(tree: ExpressionTree): Words | undefined {
  const anyOf = wordsIn(tree);
  if (anyOf.length === 0 || anyOf.length > maxWords) return undefined;
  const suffice = tree.kind === "sequence" && tree.parts.every((part) => literalOf(part).length > 0);
  return { anyOf, suffice };
}

/**
 * Compiles an expression in the syntax of PCRE2 without look-around and back references.
 * @throws SyntaxError when it is malformed, ExpressionUnsupported when it cannot be matched in bounded time.
 */
export function compileExpression(text: string): Expression {
  const tree = readExpression(text);
  const automaton = createAutomaton(tree);
  const words = wordsOf(tree);
  const paths = pathsOf(tree);
  // V8's engine takes no more steps at each character than the automaton might.
  if (paths <= maxPaths && paths * sizeOf(tree) <= maxSteps) {
    const native = new RegExp(toJavaScript(tree), "v");
    return { words, test: (each) => native.test(each), held: () => 0 };
  }
  const word = requiredWord(tree);
  if (word.length < minWordLength) return { words, ...automaton, held: automaton.held };
  // V8 finds a word several times faster.
  const hasWord = new RegExp(word.join(""), "v");
  return { words, test: (each) => hasWord.test(each) && automaton.test(each), held: automaton.held };
}

/** Checks an expression at once: its search may have to wait for others. @throws DomainError VALIDATION_ERROR. */
export function checkExpression(text: string): string {
  try {
    compileExpression(text);
  } catch (error) {
    throw invalid("grep", `Must be a regular expression: ${lowerFirst(errorMessage(error))}`);
  }
  return text;
}
