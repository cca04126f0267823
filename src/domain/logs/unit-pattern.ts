import { invalid } from "#domain/common/error.ts";

const maxNameLength = 255;

/** The kernel's own messages belong to no unit. */
const kernel = "kernel";

const unitSuffix = /.\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$/;
/** Characters of unit names (systemd.unit(5)), and of patterns. */
const nameCharacters = /^[A-Za-z0-9:_.\\@-]+$/;
const patternCharacters = /^[A-Za-z0-9:_.\\@[\]!*?-]+$/;
const isGlob = (text: string): boolean => /[*?[]/.test(text);

/** The only units whose names begin with a dash: the roots of file system and slices. */
const dashedNames = ["-.mount", "-.slice"];

/** A path escaped as `systemd-escape --path` does; undefined where it refuses. */
function escapePath(path: string): string | undefined {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) return undefined;
  if (parts.length === 0) return "-";
  let escaped = "";
  for (const byte of new TextEncoder().encode(parts.join("/"))) {
    const character = String.fromCharCode(byte);
    if (character === "/") escaped += "-";
    // A leading dot would hide the unit's file.
    else if (/[A-Za-z0-9:_.]/.test(character) && !(escaped === "" && character === ".")) escaped += character;
    else escaped += `\\x${byte.toString(16).padStart(2, "0")}`;
  }
  return escaped;
}

const isControl = (byte: number): boolean => byte < 0x20 || byte === 0x7f;

function fromPath(path: string): string {
  const escaped = new TextEncoder().encode(path).some(isControl) ? undefined : escapePath(path);
  if (escaped === undefined) throw invalid("unit", "Must be a path that a unit can be named for");
  return `${escaped}${/^\/+(dev|sys)\/+[^/]/.test(path) ? ".device" : ".mount"}`;
}

/**
 * The unit name or pattern by the rules of `journalctl -u`: `nginx` is `nginx.service`, an absolute path its mount or device unit, a
 * pattern or `kernel` stays as it is. Names that systemd would escape are refused: no unit has one.
 * @throws DomainError VALIDATION_ERROR.
 */
export function canonicalUnit(text: string): string {
  if (text === kernel) return kernel;
  const name = text.startsWith("/") ? fromPath(text) : isGlob(text) || unitSuffix.test(text) ? text : `${text}.service`;
  if (name.length > maxNameLength) throw invalid("unit", `Longer than ${maxNameLength} characters`);
  const allowed = isGlob(name) ? patternCharacters : nameCharacters;
  const isDashed = name.startsWith("-") && !dashedNames.includes(name);
  if (text === "" || isDashed || name.startsWith("@") || !allowed.test(name)) {
    throw invalid("unit", "Must be the name of a unit or a pattern of names");
  }
  return name;
}

const classes: Readonly<Record<string, RegExp>> = {
  alnum: /[A-Za-z0-9]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  cntrl: /\p{Cc}/u,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /\s/,
  upper: /[A-Z]/,
  xdigit: /[A-Fa-f0-9]/,
};

type Test = (character: string) => boolean;
/** A test of one character, or any run of characters. */
type Step = Test | "run";

/** The bracket expression at a position, and its end; undefined where `[` is literal. */
function readBracket(pattern: string, start: number): { readonly test: Test; readonly end: number } | undefined {
  let at = start + 1;
  const isNegated = pattern[at] === "!" || pattern[at] === "^";
  if (isNegated) at += 1;
  const tests: Test[] = [];
  for (let isFirst = true; at < pattern.length; isFirst = false) {
    const from = pattern.charAt(at);
    // A leading closing bracket is literal.
    if (from === "]" && !isFirst) {
      return { test: (character) => tests.some((test) => test(character)) !== isNegated, end: at + 1 };
    }
    const named = /^\[:([a-z]+):\]/.exec(pattern.slice(at, at + 12));
    const kind = classes[named?.[1] ?? ""];
    if (named !== null && kind !== undefined) {
      tests.push((character) => kind.test(character));
      at += named[0].length;
      continue;
    }
    const to = pattern.charAt(at + 2);
    if (pattern[at + 1] === "-" && to !== "]" && to !== "") {
      tests.push((character) => character >= from && character <= to);
      at += 3;
    } else {
      tests.push((character) => character === from);
      at += 1;
    }
  }
  return undefined;
}

function readSteps(pattern: string): readonly Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < pattern.length; ) {
    const character = pattern.charAt(at);
    const bracket = character === "[" ? readBracket(pattern, at) : undefined;
    at = bracket?.end ?? at + 1;
    if (bracket !== undefined) steps.push(bracket.test);
    else if (character === "*") steps.push("run");
    else if (character === "?") steps.push(() => true);
    else steps.push((each) => each === character);
  }
  return steps;
}

/**
 * Matches as fnmatch(3) with `FNM_NOESCAPE`, which journalctl uses. Only the last `*` is backtracked, so the time is bounded by the
 * product of the lengths.
 */
function matchSteps(steps: readonly Step[], name: string): boolean {
  let step = 0;
  let at = 0;
  let run = -1;
  let runAt = 0;
  while (at < name.length) {
    const wanted = steps[step];
    if (wanted === "run") {
      run = step;
      runAt = at;
      step += 1;
    } else if (wanted?.(name.charAt(at)) === true) {
      step += 1;
      at += 1;
    } else if (run >= 0) {
      runAt += 1;
      at = runAt;
      step = run + 1;
    } else return false;
  }
  return steps.slice(step).every((each) => each === "run");
}

/** A matcher of a canonical name or pattern. Patterns do not match `kernel`. */
export function compileUnitPattern(pattern: string): (name: string) => boolean {
  if (!isGlob(pattern)) return (name) => name === pattern;
  const steps = readSteps(pattern);
  return (name) => name !== kernel && matchSteps(steps, name);
}

/** Whether a name or pattern is covered by a wider pattern with `*` only. A bracket counts as any character, to be safe. */
export function isWithin(narrow: string, wide: string): boolean {
  if (!narrow.includes("[")) return compileUnitPattern(wide)(narrow);
  let widened = "";
  for (let at = 0; at < narrow.length; ) {
    const bracket = narrow[at] === "[" ? readBracket(narrow, at) : undefined;
    widened += bracket === undefined ? narrow.charAt(at) : "?";
    at = bracket?.end ?? at + 1;
  }
  return compileUnitPattern(wide)(widened);
}
