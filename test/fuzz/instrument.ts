import { parseSync } from "oxc-parser";

/** A node of the syntax tree, as far as it is inspected here (ESTree). */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** A source file with a counter at every edge of its control flow. */
export interface Instrumented {
  readonly code: string;
  /** How many counters it has. */
  readonly counters: number;
  /** Strings and numbers that it mentions: what it compares its input with is among them. */
  readonly literals: readonly (string | number)[];
}

/** The array of counters, as a global of the instrumented code. */
export const countersGlobal = "__fuzzCounters";

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
const nodeAt = (node: Node, key: string): Node | undefined => {
  const value = node[key];
  return isNode(value) ? value : undefined;
};
const nodesAt = (node: Node, key: string): readonly Node[] => {
  const value = node[key];
  return Array.isArray(value) ? value.filter(isNode) : [];
};

/** Calls `visit` for every node, parents first. */
function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) walk(child, visit);
  }
}

/** Parts of nodes at which control flow parts. */
const countedIn: Readonly<Record<string, readonly string[]>> = {
  ...{ FunctionDeclaration: ["body"], FunctionExpression: ["body"], ArrowFunctionExpression: ["body"] },
  ...{ ForStatement: ["body"], ForInStatement: ["body"], ForOfStatement: ["body"], WhileStatement: ["body"] },
  ...{ DoWhileStatement: ["body"], CatchClause: ["body"] },
  ...{ LogicalExpression: ["right"], AssignmentPattern: ["right"] },
  ...{ IfStatement: ["consequent", "alternate"], ConditionalExpression: ["consequent", "alternate"] },
};

/**
 * Puts a counter at each place where control flow can part: functions, branches, loops, cases, the right sides of `&&`, `||`, `??`
 * and `?:`, handlers and default values. Lines stay where they are, so that stacks stay correct.
 * @param firstCounter number of its first counter in the array that all files share.
 * @throws SyntaxError
 */
export function instrument(path: string, source: string, firstCounter: number): Instrumented {
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`);
  const insertions: { readonly at: number; readonly text: string; readonly order: number }[] = [];
  const literals = new Set<string | number>();
  let counters = 0;

  const insert = (at: number, text: string): void => {
    insertions.push({ at, text, order: insertions.length });
  };
  /** An end stands before a start at the same place, and an inner end before an outer one. */
  const end = (node: Node, text: string, order = 0): void => {
    insertions.push({ at: node.end, text, order: -node.start - order });
  };
  const next = (): string => {
    counters += 1;
    return `${countersGlobal}[${firstCounter + counters - 1}]++`;
  };
  /** Counts a block, a statement or an expression. */
  const count = (node: Node | undefined): void => {
    if (node === undefined) return;
    if (node.type === "BlockStatement" || node.type === "FunctionBody") {
      const directive = nodesAt(node, "body").findLast((statement) => typeof statement["directive"] === "string");
      insert(directive?.end ?? node.start + 1, `${next()};`);
    } else if (node.type.endsWith("Statement") || node.type.endsWith("Declaration")) {
      insert(node.start, `{${next()};`);
      end(node, "}");
    } else {
      insert(node.start, `(${next()},`);
      end(node, ")");
    }
  };

  walk(program as unknown as Node, (node) => {
    for (const key of countedIn[node.type] ?? []) count(nodeAt(node, key));
    if (node.type === "IfStatement" && nodeAt(node, "alternate") === undefined) end(node, `else{${next()};}`, 0.5);
    if (node.type === "SwitchCase") {
      const [first] = nodesAt(node, "consequent");
      if (first !== undefined) insert(first.start, `${next()};`);
    }
    const { value } = node;
    if (node.type === "Literal" && (typeof value === "string" || typeof value === "number")) literals.add(value);
  });

  // At one place: ends first, the inner ones before the outer ones, then beginnings, the outer ones first.
  insertions.sort((a, b) => a.at - b.at || a.order - b.order);
  let code = "";
  let done = 0;
  for (const { at, text } of insertions) {
    code += source.slice(done, at) + text;
    done = at;
  }
  return { code: code + source.slice(done), counters, literals: [...literals] };
}
