import type { Command } from "commander";
import { type ContextStore, contextNamed, localName } from "./contexts.ts";
import { pluginCallOf } from "./plugin-call.ts";

/** The same command line for several hosts. */
export interface SeveralHosts {
  readonly names: readonly string[];
  /** What is run for each, without what names the hosts. */
  readonly argv: readonly string[];
  /** Whether what changes hosts was agreed to beforehand. */
  readonly isWanted: boolean;
  readonly isJson: boolean;
  /** How long each may take: to answer, and to change something. */
  readonly readMs: number;
  readonly changeMs: number;
}

const usualReadMs = 15_000;
const usualChangeMs = 15 * 60_000;
/** Commands that ask no other host, or that one person sits in front of. */
const onlyOne: ReadonlySet<string> = new Set([
  "serve",
  "task",
  "config",
  "completion",
  "context",
  "help",
  "chat",
  "watch",
  "observability",
  "new",
  "validate",
]);
const onlyOneWith = ["-f", "--follow", "--fix", "--offline", "--nagios"] as const;

/** `15s`, `2m` in milliseconds. */
function hostTimeoutMs(text: string): number {
  const [, number = "", unit = ""] = /^([1-9]\d{0,4})(s|m)$/.exec(text) ?? [];
  if (number === "")
    throw new Error(`cannot wait for ${JSON.stringify(text)}: --host-timeout must be a time such as 15s or 2m`);
  return Number(number) * (unit === "m" ? 60_000 : 1000);
}

interface Split {
  readonly rest: string[];
  isAll: boolean;
  context: string | undefined;
  isWanted: boolean;
  timeout: string | undefined;
}

/** Takes what names the hosts out of a command line. What follows the name of a plugin belongs to the plugin. */
function split(program: Command, argv: readonly string[]): Split {
  const plugin = pluginCallOf(program, argv);
  const end = plugin === undefined ? argv.indexOf("--") : plugin.before.length;
  const own = end === -1 ? argv : argv.slice(0, end);
  const found: Split = { rest: [], isAll: false, context: undefined, isWanted: false, timeout: undefined };
  for (let at = 0; at < own.length; at += 1) {
    const word = own[at] ?? "";
    const [, name, value] = /^--(context|host-timeout)(?:=(.*))?$/.exec(word) ?? [];
    if (word === "--all") found.isAll = true;
    else if (word === "--yes" || word === "-y") found.isWanted = true;
    else if (name !== undefined) {
      const text = value ?? own[at + 1] ?? "";
      if (value === undefined) at += 1;
      if (name === "context") found.context = text;
      else found.timeout = text;
    } else found.rest.push(word);
  }
  if (end !== -1) found.rest.push(...argv.slice(end));
  return found;
}

/** The command that words lead to; each level may have one that needs no word. */
function leafOf(
  program: Command,
  words: readonly string[],
): { readonly path: readonly string[]; readonly leaf: Command } {
  let leaf = program;
  const path: string[] = [];
  for (const word of words) {
    const next = leaf.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (next === undefined) continue;
    leaf = next;
    path.push(next.name());
  }
  return { path, leaf };
}

/**
 * Whether a command line is for several hosts, and for which.
 * @throws Error where it cannot be: one of a name that is not there, or a command that is for one host.
 */
export async function severalHosts(
  program: Command,
  argv: readonly string[],
  store: Pick<ContextStore, "read">,
): Promise<SeveralHosts | undefined> {
  const { rest, isAll, context, isWanted, timeout } = split(program, argv);
  const named = context ?? "";
  if (!isAll && !named.includes(",")) return undefined;
  const isHelp = rest.includes("--help") || rest.includes("-h");
  if (isHelp) return undefined;
  if (isAll && context !== undefined)
    throw new Error("cannot tell which hosts are meant: --all and --context both name some (leave one out)");
  const { path, leaf } = leafOf(program, rest);
  const without = path.find((name) => onlyOne.has(name)) ?? onlyOneWith.find((word) => rest.includes(word));
  if (without !== undefined)
    throw new Error(`cannot do this for several hosts: ${without} is for one (name it with --context)`);
  const contexts = await store.read();
  const names = isAll ? Object.keys(contexts.all) : [...new Set(named.split(",").filter((name) => name !== ""))];
  for (const name of names) if (name !== localName) contextNamed(contexts, name);
  if (names.length === 0)
    throw new Error("cannot ask all hosts: there is no context yet (steward context add makes one)");
  const agrees = leaf.options.some(({ long }) => long === "--yes");
  return {
    names,
    argv: agrees ? [...rest, "--yes"] : rest,
    isWanted,
    isJson: rest.includes("--json"),
    readMs: timeout === undefined ? usualReadMs : hostTimeoutMs(timeout),
    changeMs: timeout === undefined ? usualChangeMs : hostTimeoutMs(timeout),
  };
}
