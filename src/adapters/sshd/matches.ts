import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { SshMatch, SshUser } from "#domain/ports/network.ts";
import { orUndefined } from "#kernel/errors.ts";

/** As sshd has it: files that include each other. */
const deepest = 16;
/** Where included files are that have no absolute path. */
const directory = "/etc/ssh";

/** A criterion of `Match`, such as `address` and `10.0.0.0/8`. */
type Criterion = readonly [name: string, patterns: string];

/** Lines that hold where all criteria are met. */
export interface MatchBlock {
  /** As it is written. */
  readonly match: string;
  readonly criteria: readonly Criterion[];
  readonly options: Map<string, string>;
}

const withoutValue = new Set(["all", "invalid-user"]);
/** Met by all connections or by none. */
const constant = new Set(["all", "version"]);
const ofUser = new Set(["user", "group"]);

/** Earlier names of options, which sshd prints by those of today. */
const today: Readonly<Record<string, string>> = {
  challengeresponseauthentication: "kbdinteractiveauthentication",
  pubkeyacceptedkeytypes: "pubkeyacceptedalgorithms",
};

/** The arguments of a line, up to a comment. */
function wordsOf(text: string): readonly string[] {
  const words = text.match(/(?:"[^"]*"|[^\s"])+/g) ?? [];
  const end = words.findIndex((word) => word.startsWith("#"));
  return (end < 0 ? words : words.slice(0, end)).map((word) => word.replaceAll('"', ""));
}

function criteriaIn(words: readonly string[]): readonly Criterion[] {
  const criteria: Criterion[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const name = (words[at] ?? "").toLowerCase();
    if (!withoutValue.has(name)) at += 1;
    criteria.push([name, withoutValue.has(name) ? "" : (words[at] ?? "")]);
  }
  return criteria;
}

/** `*` and `?`, as PATTERNS of ssh_config(5) have them. */
function isLike(name: string, pattern: string): boolean {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s").test(name);
}

function meets(names: readonly string[], list: string): boolean {
  const patterns = list.split(",");
  const isAny = (found: readonly string[]) => found.some((pattern) => names.some((name) => isLike(name, pattern)));
  return (
    isAny(patterns) && !isAny(patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1)))
  );
}

/** What a pattern of glob(7) includes, in its order. */
async function pathsOf(pattern: string): Promise<readonly string[]> {
  if (!/[*?[]/.test(pattern)) return [pattern];
  if (pattern.includes("[")) throw new Error(`cannot tell which files sshd includes by ${pattern}`);
  const paths: string[] = [];
  for (const dir of await pathsOf(dirname(pattern))) {
    const names = (await orUndefined(readdir(dir))) ?? [];
    const found = names.filter((name) => !name.startsWith(".") && isLike(name, basename(pattern)));
    paths.push(...found.toSorted().map((name) => join(dir, name)));
  }
  return paths;
}

/** Reads sshd_config(5) with what it includes; a file that is not there is empty. */
export async function readMatchBlocks(
  path: string,
  outer: Pick<MatchBlock, "match" | "criteria"> = { match: "Match", criteria: [] },
  depth = 0,
): Promise<readonly MatchBlock[]> {
  if (depth > deepest) throw new Error(`cannot read ${path}: it is included more than ${deepest} files deep`);
  let block: MatchBlock = { ...outer, options: new Map() };
  const blocks = [block];
  for (const line of ((await orUndefined(readFile(path, "utf8"))) ?? "").split("\n")) {
    const [, keyword = "", rest = ""] = /^\s*([A-Za-z0-9]+)(?:\s*=\s*|\s+)(.*)$/.exec(line) ?? [];
    const name = today[keyword.toLowerCase()] ?? keyword.toLowerCase();
    if (name === "match") {
      const words = wordsOf(rest.replaceAll("=", " "));
      const criteria = [...outer.criteria, ...criteriaIn(words)];
      block = { match: [outer.match, ...words].join(" "), criteria, options: new Map() };
      blocks.push(block);
    } else if (name === "include") {
      const patterns = wordsOf(rest).map((pattern) => resolve(directory, pattern));
      const paths = (await Promise.all(patterns.map(pathsOf))).flat();
      for (const each of paths) blocks.push(...(await readMatchBlocks(each, block, depth + 1)));
    } else if (name !== "" && !block.options.has(name)) {
      block.options.set(name, wordsOf(rest).join(" "));
    }
  }
  return blocks;
}

/** A port that no block names. */
export function otherPort(blocks: readonly MatchBlock[]): number | undefined {
  const named = blocks.flatMap(({ criteria }) =>
    criteria.flatMap(([name, port]) => (name === "localport" ? port : [])),
  );
  if (named.length === 0) return undefined;
  let port = 65_535;
  while (named.includes(String(port))) port -= 1;
  return port;
}

/** Blocks that only some connections meet: of a user, or of anybody who can sign in. */
export function matchesFor(blocks: readonly MatchBlock[], user: SshUser | undefined): readonly SshMatch[] {
  const isOpen = ([name, patterns]: Criterion): boolean | undefined => {
    if (constant.has(name)) return false;
    if (user === undefined || !ofUser.has(name)) return true;
    return meets(name === "user" ? [user.name] : user.groups, patterns) ? false : undefined;
  };
  return blocks
    .filter(({ criteria, options }) => {
      const open = criteria.map(isOpen);
      const isOfNobody = open.includes(undefined) || criteria.some(([name]) => name === "invalid-user");
      return options.size > 0 && open.includes(true) && !isOfNobody;
    })
    .map(({ match, options }) => ({ match, options: Object.fromEntries(options) }));
}
