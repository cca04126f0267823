import type { Option } from "commander";
import { pluginCallOf } from "../commands/plugins/call.ts";
import type { Command } from "../core/command.ts";
import { type ContextStore, contextNamed, localName } from "./store.ts";

export interface SeveralHosts {
  readonly names: readonly string[];
  /** What is run for each, without what names the hosts. */
  readonly argv: readonly string[];
  /** Whether what changes hosts was agreed to beforehand. */
  readonly isWanted: boolean;
  readonly isJson: boolean;
  readonly isPlugin: boolean;
  readonly readMs: number;
  readonly changeMs: number;
}

const usualReadMs = 15_000;
const usualChangeMs = 15 * 60_000;
/** Commands that concern no other host, or that are interactive. */
const onlyOne: ReadonlySet<string> = new Set(
  "serve task config completion context help ask chat watch observability new validate".split(" "),
);
const onlyOneWith: ReadonlySet<string> = new Set(["--follow", "--fix", "--offline", "--nagios"]);

function hostTimeoutMs(text: string): number {
  const [, number = "", unit = ""] = /^([1-9]\d{0,4})(s|m)$/.exec(text) ?? [];
  if (number === "")
    throw new Error(`cannot wait for ${JSON.stringify(text)}: --host-timeout must be a time such as 15s or 2m`);
  return Number(number) * (unit === "m" ? 60_000 : 1000);
}

interface Split {
  readonly rest: string[];
  readonly isPlugin: boolean;
  isAll: boolean;
  context: string | undefined;
  isWanted: boolean;
  timeout: string | undefined;
}

/** The index of the name of a plugin; options for several hosts may precede it. */
function pluginAt(program: Command, argv: readonly string[]): number | undefined {
  let at = 0;
  for (let word = argv[at]; word !== undefined; word = argv[at]) {
    const call = pluginCallOf(program, argv.slice(at));
    if (call !== undefined) return at + call.before.length;
    if (!word.startsWith("-")) return undefined;
    const takesNext = program.options.some(({ long, required }) => required && long === word);
    at += takesNext ? 2 : 1;
  }
  return undefined;
}

/** Takes what names the hosts out of a command line. What follows the name of a plugin belongs to the plugin. */
function split(program: Command, argv: readonly string[]): Split {
  const plugin = pluginAt(program, argv);
  const end = plugin ?? argv.indexOf("--");
  const own = end === -1 ? argv : argv.slice(0, end);
  const found: Split = {
    rest: [],
    isPlugin: plugin !== undefined,
    isAll: false,
    context: undefined,
    isWanted: false,
    timeout: undefined,
  };
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
function leafOf(program: Command, words: readonly string[]) {
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

function acceptedOptions(leaf: Command): readonly Option[] {
  return leaf.parent === null ? leaf.options : [...leaf.options, ...acceptedOptions(leaf.parent)];
}

interface Flag {
  readonly word: string;
  readonly option: Option;
}

/** The short flags of a word such as `-fu`; the value of one that takes a value may follow it. */
function shortFlagsOf(options: readonly Option[], word: string): readonly Flag[] {
  const flags: Flag[] = [];
  if (!/^-[^-]/.test(word)) return flags;
  for (const letter of word.slice(1)) {
    const option = options.find(({ short }) => short === `-${letter}`);
    if (option === undefined) break;
    flags.push({ word: `-${letter}`, option });
    if (option.required || option.optional) break;
  }
  return flags;
}

function flagsOf(leaf: Command, words: readonly string[]): readonly Flag[] {
  const options = acceptedOptions(leaf);
  const flags: Flag[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    if (word === "--") break;
    const [name = ""] = word.split("=", 1);
    const long = options.find((each) => each.long === name);
    const found = long === undefined ? shortFlagsOf(options, word) : [{ word: name, option: long }];
    flags.push(...found);
    const isWithoutValue = long === undefined ? found.length === word.length - 1 : word === name;
    if (isWithoutValue && found.at(-1)?.option.required) at += 1;
  }
  return flags;
}

function assertForSeveral({ path, leaf }: ReturnType<typeof leafOf>, { rest, isAll, context }: Split): void {
  if (isAll && context !== undefined)
    throw new Error("cannot tell which hosts are meant: --all and --context both name some (leave one out)");
  const flags = flagsOf(leaf, rest);
  if (flags.some(({ option }) => option.long === "--url"))
    throw new Error(
      `cannot tell which hosts are meant: --url and ${isAll ? "--all" : "--context"} both name some (leave one out)`,
    );
  const without =
    path.find((name) => onlyOne.has(name)) ?? flags.find(({ option }) => onlyOneWith.has(option.long ?? ""))?.word;
  if (without !== undefined)
    throw new Error(`cannot do this for several hosts: ${without} is for one (name it with --context)`);
}

const isAboutProgram = (own: readonly string[], path: readonly string[]): boolean =>
  own.includes("--help") ||
  own.includes("-h") ||
  (path.length === 0 && (own.includes("--version") || own.includes("-V")));

/**
 * The hosts that a command line is for; undefined where it is for one.
 * @throws Error where a name is unknown, there is no command, or the command is for one host.
 */
export function severalHosts(
  program: Command,
  argv: readonly string[],
  store: Pick<ContextStore, "read">,
): SeveralHosts | undefined {
  const found = split(program, argv);
  const { rest, isPlugin, isAll, context, isWanted, timeout } = found;
  const named = context ?? "";
  if (!isAll && !named.includes(",")) return undefined;
  // The words after the name of a plugin belong to the plugin.
  const own = isPlugin ? rest.slice(0, pluginAt(program, rest)) : rest;
  const { path, leaf } = leafOf(program, own);
  if (isAboutProgram(own, path)) return undefined;
  assertForSeveral({ path, leaf }, { ...found, rest: own });
  if (path.length === 0 && !isPlugin)
    throw new Error(
      "cannot ask several hosts without a command: say what is to be asked (such as steward --all status)",
    );
  const contexts = store.read();
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
    isPlugin,
    readMs: timeout === undefined ? usualReadMs : hostTimeoutMs(timeout),
    changeMs: timeout === undefined ? usualChangeMs : hostTimeoutMs(timeout),
  };
}
