import { type ExpressionTree, ExpressionUnsupported } from "./expression-tree.ts";

/** Steps of an expression with its counted repetitions written out. Each character of a text costs at most all of them. */
export const maxSteps = 4096;
/** Total size of remembered states; past it they are rebuilt. */
const maxRemembered = 1_000_000;
/** States that one text may add; then it is matched without remembering, since it rarely meets the same one again. */
const maxNewStates = 512;
/** Characters beyond the basic plane whose class is remembered. */
const maxRememberedAstral = 16_384;

/** Kinds of steps. Assertions and `split` consume no character. */
const does = {
  match: 0,
  character: 1,
  split: 2,
  boundary: 3,
  inside: 4,
  start: 5,
  end: 6,
  finish: 7,
  unpaired: 8,
} as const;

/** Steps by number, in columns: they are walked through for every character. */
interface Program {
  readonly kinds: Uint8Array;
  readonly next: Int32Array;
  /** For a character the number of its set, for a split the alternative. */
  readonly other: Int32Array;
  readonly start: number;
  readonly sets: readonly string[];
}

/** Number of steps of a tree with counted repetitions written out. @throws ExpressionUnsupported when it is too large. */
export function sizeOf(tree: ExpressionTree): number {
  const withinLimit = (size: number): number => {
    if (size <= maxSteps) return size;
    throw new ExpressionUnsupported(`Too large: written out it has over ${maxSteps} steps (count to less)`);
  };
  switch (tree.kind) {
    case "sequence":
      // An empty sequence counts too: it may be repeated.
      return withinLimit(
        Math.max(
          1,
          tree.parts.reduce((sum, part) => sum + sizeOf(part), 0),
        ),
      );
    case "choice":
      return withinLimit(tree.branches.reduce((sum, branch) => sum + sizeOf(branch) + 1, -1));
    case "repeat": {
      const optional = tree.most === Infinity ? 1 : tree.most - tree.least;
      const size = sizeOf(tree.body);
      return withinLimit(size * tree.least + (size + 1) * optional);
    }
    case "character":
    case "boundary":
    case "edge":
      return 1;
  }
}

/** Assembles the steps of a tree (Thompson's construction), each part before its successor. */
function assemble(tree: ExpressionTree): Program {
  sizeOf(tree);
  const kinds: number[] = [];
  const nexts: number[] = [];
  const others: number[] = [];
  const sets: string[] = [];
  const setOf = (source: string): number => {
    const known = sets.indexOf(source);
    return known >= 0 ? known : sets.push(source) - 1;
  };
  const add = (kind: number, next: number, other = 0): number => {
    kinds.push(kind);
    nexts.push(next);
    return others.push(other) - 1;
  };

  const write = (part: ExpressionTree, next: number): number => {
    switch (part.kind) {
      case "character":
        return add(does.character, next, setOf(part.source));
      case "boundary":
        return add(part.inside ? does.inside : does.boundary, next);
      case "edge":
        return add(does[part.edge], next);
      case "sequence":
        return part.parts.reduceRight((after, each) => write(each, after), next);
      case "choice":
        return part.branches
          .map((branch) => write(branch, next))
          .reduceRight((other, one) => add(does.split, one, other));
      case "repeat": {
        const { body, least, most } = part;
        let entry = next;
        if (most === Infinity) {
          entry = add(does.split, next, next);
          nexts[entry] = write(body, entry);
        } else for (let copy = least; copy < most; copy += 1) entry = add(does.split, write(body, entry), next);
        for (let copy = 0; copy < least; copy += 1) entry = write(body, entry);
        return entry;
      }
    }
  };
  const start = write(tree, add(does.match, 0));
  return { kinds: Uint8Array.from(kinds), next: Int32Array.from(nexts), other: Int32Array.from(others), start, sets };
}

/** `final` is a newline at the end of the text. */
type Neighbour = "word" | "other" | "newline" | "final" | "none";

interface Place {
  readonly positions: Int32Array;
  readonly before: Neighbour;
}

/** Characters that no set of the expression distinguishes. */
interface CharacterClass {
  /** By number of the set: 1 where the class is in it. */
  readonly sets: Uint8Array;
  readonly seenAs: Neighbour;
}

/** The state of an automaton. Plain data and functions over it, so that one loop serves them all and is compiled once. */
interface Machine {
  readonly program: Program;
  /** By number of the set. */
  readonly tests: readonly RegExp[];
  readonly classes: CharacterClass[];
  readonly classNumbers: Map<string, number>;
  /** Class of a newline at the end of a text; unclassified where not known yet. */
  finalNewline: number;
  /** Class by code unit; unclassified where it is not known yet, or the unit may be half a character. */
  readonly ofUnit: Uint16Array;
  readonly ofAstral: Map<number, number>;
  /** Transitions: a row for each state, a column for each class; 0 where not known yet. */
  table: Int32Array;
  columns: number;
  places: Place[];
  stateNumbers: Map<string, number>;
  positions: number;
  /** By step: the last visit that came to it, and the last that reached it by a character. */
  readonly visitedAt: Float64Array;
  readonly reachedAt: Float64Array;
  visit: number;
  /** Steps still to visit, and steps reached. */
  readonly stack: Int32Array;
  readonly reached: Int32Array;
}

/** Class of what has none yet, whose transitions are never known. */
const unclassified = 0;
/** Class of the end of the text. */
const endOfText = 1;
/** State numbers: matched, and before a text. */
const matched = 1;
const initial = 2;

const end: CharacterClass = { sets: new Uint8Array(0), seenAs: "none" };
const edge: Place = { positions: new Int32Array(0), before: "none" };

function createMachine(program: Program): Machine {
  return {
    program,
    tests: program.sets.map((source) => new RegExp(`^(?:${source})$`, "v")),
    classes: [end, end],
    classNumbers: new Map(),
    finalNewline: unclassified,
    ofUnit: new Uint16Array(0x1_0000),
    ofAstral: new Map(),
    table: new Int32Array(1024),
    columns: 16,
    places: [edge, edge, edge],
    stateNumbers: new Map(),
    positions: 0,
    visitedAt: new Float64Array(program.kinds.length),
    reachedAt: new Float64Array(program.kinds.length),
    visit: 0,
    stack: new Int32Array(3 * program.kinds.length + 1),
    reached: new Int32Array(program.kinds.length),
  };
}

const neighbourOf = (character: string): Neighbour =>
  /^\w$/.test(character) ? "word" : character === "\n" ? "newline" : "other";

/** Gives every state twice as many columns. */
function widen(machine: Machine): void {
  const { table, columns } = machine;
  machine.columns = 2 * columns;
  machine.table = new Int32Array(2 * table.length);
  for (let from = 0; from < table.length; from += columns) {
    machine.table.set(table.subarray(from, from + columns), 2 * from);
  }
}

function classify(machine: Machine, character: string, seenAs: Neighbour = neighbourOf(character)): number {
  const { tests, classes, classNumbers } = machine;
  const sets = Uint8Array.from(tests, (test) => (test.test(character) ? 1 : 0));
  const key = seenAs + sets.join("");
  const known = classNumbers.get(key);
  if (known !== undefined) return known;
  const made = classes.push({ sets, seenAs }) - 1;
  classNumbers.set(key, made);
  if (made === machine.columns) widen(machine);
  return made;
}

const isLeading = (code: number): boolean => code >= 0xd800 && code < 0xdc00;

function classOfUnit(machine: Machine, code: number): number {
  const found = classify(machine, String.fromCharCode(code));
  if (!isLeading(code)) machine.ofUnit[code] = found;
  return found;
}

function classOfAstral(machine: Machine, code: number): number {
  const { ofAstral } = machine;
  const known = ofAstral.get(code);
  if (known !== undefined) return known;
  const found = classify(machine, String.fromCodePoint(code));
  if (ofAstral.size >= maxRememberedAstral) ofAstral.clear();
  ofAstral.set(code, found);
  return found;
}

function holds(kind: number, before: Neighbour, after: Neighbour): boolean {
  switch (kind) {
    case does.start:
      return before === "none";
    case does.end:
      return after === "none";
    case does.finish:
      return after === "none" || after === "final";
    case does.unpaired:
      return after !== "newline" && after !== "final";
    default:
      return ((before === "word") !== (after === "word")) === (kind === does.boundary);
  }
}

/** Advances by a character of a class, or to the end; undefined when the expression has matched. */
function advance(machine: Machine, { positions, before }: Place, classNumber: number): Place | undefined {
  const { program, visitedAt, reachedAt, classes, stack, reached } = machine;
  const { kinds, next, other } = program;
  const { sets, seenAs: after } = classes[classNumber] ?? end;
  machine.visit += 1;
  const { visit } = machine;
  // A match may begin at every character.
  stack[0] = program.start;
  stack.set(positions, 1);
  let waiting = positions.length + 1;
  let count = 0;
  while (waiting > 0) {
    waiting -= 1;
    const at = stack[waiting] ?? 0;
    if (visitedAt[at] === visit) continue;
    visitedAt[at] = visit;
    const kind = kinds[at] ?? 0;
    const to = next[at] ?? 0;
    if (kind === does.match) return undefined;
    if (kind === does.character) {
      if (sets[other[at] ?? 0] !== 1 || reachedAt[to] === visit) continue;
      reachedAt[to] = visit;
      reached[count] = to;
      count += 1;
    } else if (kind === does.split) {
      stack[waiting] = other[at] ?? 0;
      stack[waiting + 1] = to;
      waiting += 2;
    } else if (holds(kind, before, after)) {
      stack[waiting] = to;
      waiting += 1;
    }
  }
  const isNewline = after === "newline" || after === "final";
  return { positions: reached.slice(0, count), before: isNewline ? "other" : after };
}

function stateOf(machine: Machine, { positions, before }: Place): number {
  const { stateNumbers, places, columns, table } = machine;
  const sorted = positions.toSorted();
  const key = `${before}:${sorted.join()}`;
  const known = stateNumbers.get(key);
  if (known !== undefined) return known;
  const made = places.push({ positions: sorted, before }) - 1;
  stateNumbers.set(key, made);
  machine.positions += sorted.length;
  if (places.length * columns > table.length) {
    machine.table = new Int32Array(table.length * 2);
    machine.table.set(table);
  }
  return made;
}

/** Computes a transition, and remembers it. */
function follow(machine: Machine, state: number, classNumber: number): number {
  const place = advance(machine, machine.places[state] ?? edge, classNumber);
  const next = place === undefined ? matched : stateOf(machine, place);
  machine.table[state * machine.columns + classNumber] = next;
  return next;
}

/** Forgets the states, between two texts, where memory is full. */
function tidy(machine: Machine): void {
  if (machine.table.length + machine.positions <= maxRemembered) return;
  machine.table = new Int32Array(machine.columns * 64);
  machine.places = [edge, edge, edge];
  machine.stateNumbers = new Map();
  machine.positions = 0;
}

/** Whether two code units are one character. */
const isPair = (text: string, at: number): boolean => (text.codePointAt(at) ?? 0) > 0xffff;

const newline = 0x0a;

/** Where a text has a newline at its end; -1 where it has none. */
function finalNewlineOf(machine: Machine, text: string): number {
  const at = text.length - 1;
  if (text.charCodeAt(at) !== newline) return -1;
  machine.finalNewline ||= classify(machine, "\n", "final");
  return at;
}

/** Matches the rest of a text without remembering. */
function walk(machine: Machine, text: string, from: number, state: number): boolean {
  const final = finalNewlineOf(machine, text);
  let place: Place | undefined = machine.places[state] ?? edge;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    let next: number;
    if (at === final) next = machine.finalNewline;
    else if (isPair(text, at)) {
      next = classOfAstral(machine, text.codePointAt(at) ?? code);
      at += 1;
    } else next = machine.ofUnit[code] || classOfUnit(machine, code);
    place = advance(machine, place, next);
    if (place === undefined) return true;
  }
  return advance(machine, place, endOfText) === undefined;
}

function search(machine: Machine, text: string): boolean {
  const final = finalNewlineOf(machine, text);
  tidy(machine);
  const { ofUnit } = machine;
  const plainEnd = final < 0 ? text.length : final;
  const mostStates = machine.places.length + maxNewStates;
  let { table, columns } = machine;
  let state = initial;
  for (let at = 0; at < text.length; at += 1) {
    // Nearly all the time goes into these steps.
    for (; at < plainEnd; at += 1) {
      const known = table[state * columns + (ofUnit[text.charCodeAt(at)] as number)] as number;
      if (known <= matched) break;
      state = known;
    }
    if (at === text.length) break;
    const code = text.charCodeAt(at);
    let next: number;
    if (at === final) next = machine.finalNewline;
    else if (isLeading(code) && isPair(text, at)) {
      next = classOfAstral(machine, text.codePointAt(at) ?? code);
      at += 1;
    } else next = ofUnit[code] || classOfUnit(machine, code);
    // A new class may have come with a new table.
    state = machine.table[state * machine.columns + next] || follow(machine, state, next);
    ({ table, columns } = machine);
    if (state === matched) return true;
    if (machine.places.length > mostStates) return walk(machine, text, at + 1, state);
  }
  return (table[state * columns + endOfText] || follow(machine, state, endOfText)) === matched;
}

/**
 * Searches for an expression in time linear in the length of the text: all alternatives are followed side by side, and
 * transitions are remembered. @throws ExpressionUnsupported when the expression is too large.
 */
export function createAutomaton(tree: ExpressionTree): {
  readonly test: (text: string) => boolean;
  /** Bytes of what is remembered. */
  readonly held: () => number;
} {
  const program = assemble(tree);
  let machine: Machine | undefined;
  return {
    test(text) {
      machine ??= createMachine(program);
      return search(machine, text);
    },
    held() {
      if (machine === undefined) return 0;
      const { ofUnit, table, positions } = machine;
      return ofUnit.byteLength + table.byteLength + positions * Int32Array.BYTES_PER_ELEMENT;
    },
  };
}
