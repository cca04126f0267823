import { allCommands, type CommandNode } from "#cli/core/command-tree.ts";
import { documentedProgram } from "#cli/program.ts";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import type { CliSetting } from "../../api/cli-run.ts";
import { fill } from "./hostile-service.ts";

/** Commands that ask no service, or only those of contexts, or for a program that they speak to. */
export const withoutService: readonly string[] = [
  "serve",
  "context list",
  "context add",
  "context use",
  "context remove",
  "context test",
  "config check",
  "config egress",
  "audit verify",
  "plugins validate",
  "plugins confirm",
  "observability init",
  "completion",
  "mcp serve",
  "mcp install",
];

/** Words besides the arguments that a command cannot do without, or that keep it from asking a person. */
const moreWords: Readonly<Record<string, readonly string[]>> = {
  ask: ["why"],
  chat: ["hello"],
  "operations watch": ["x"],
  "operations cancel": ["--yes"],
  approve: ["--yes"],
  "alerts silence": ["--for", "1m"],
  "keys create": ["--scope", "system:read"],
  "keys revoke": ["--yes"],
  "plugins enable": ["--yes"],
  "snapshots delete": ["--yes"],
  "updates apply": ["--yes"],
  "processes signal": ["--yes"],
  "packages install": ["--yes"],
  "packages remove": ["--yes"],
  "packages purge": ["--yes"],
  "reboot start": ["--yes"],
  "updates restart-stale": ["--yes"],
  rollback: ["--yes"],
  // A report is a file.
  report: ["--preview"],
};

/** Words for arguments that take no word at all. */
const wordsOf: Readonly<Record<string, string | readonly string[]>> = {
  "processes signal": ["7", "TERM"],
  "traces show": "0af7651916cd43dd8448eb211c80319c",
  "alerts silence": "DiskSpaceLow",
  "api get-trace": "0af7651916cd43dd8448eb211c80319c",
};

const camel = (name: string): string => name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

/** What an operation cannot do without in its query and body. */
function membersOf(name: string): readonly string[] {
  const row = Object.entries<Operation>(operations).find(([each]) => each === camel(name))?.[1];
  if (row === undefined) throw new Error(`no operation ${name}`);
  const query = fill((row.query ?? {}) as never, "x") as Readonly<Record<string, unknown>>;
  const needed: readonly string[] =
    row.query !== undefined && "required" in row.query ? (row.query.required as string[]) : [];
  const required = needed.flatMap((each) => [`--${each.replaceAll("_", "-")}`, String(query[each])]);
  const body = row.body === undefined ? [] : ["--data", JSON.stringify(fill(row.body as never, "x"))];
  return [...required, ...body, ...(row.effect === "danger" ? ["--yes"] : [])];
}

function wordsFor({ path, arguments: terms }: CommandNode): readonly string[] {
  const name = path.join(" ");
  const words = wordsOf[name] ?? "x";
  const needed = terms
    .filter(({ term }) => term.startsWith("<"))
    .map((_, at) => (typeof words === "string" ? words : (words[at] ?? "x")));
  const more = path[0] === "api" ? membersOf(path[1] ?? "") : (moreWords[name] ?? []);
  return [...path, ...needed, ...more];
}

const leaves = allCommands(documentedProgram("1.2.3")).filter(
  ({ path, commands }) => path.length > 0 && commands.length === 0,
);

/** The commands of the program, by their words. */
export const commandNames: readonly string[] = leaves.map(({ path }) => path.join(" "));

/** Other forms in which commands print, and a plugin as a command. */
const furtherForms: readonly (readonly string[])[] = [
  ["check", "x"],
  ["check", "x", "--nagios"],
  ["doctor", "--fix", "--yes"],
  ["doctor", "--fix", "--yes", "--json"],
  ["logs", "-o", "short-iso"],
  ["logs", "-o", "cat"],
  ["logs", "-o", "json"],
  ["explain", "x", "--preview"],
  ["ask", "why", "--preview"],
  ["updates", "apply", "--dry-run"],
  ["chat", "--attach-logs", "x", "hello"],
  ["x", "word"],
];

/** A command line for each command that asks the service, and for each form in which it prints. */
export function askingCommands(): readonly (readonly string[])[] {
  const asking = leaves.filter(({ path }) => !withoutService.includes(path.join(" ")));
  const made = asking.flatMap((node) => {
    const words = wordsFor(node);
    const isJson = node.path[0] !== "api" && node.options.some(({ names }) => names.includes("--json"));
    return isJson ? [words, [...words, "--json"]] : [words];
  });
  return [...made, ...furtherForms];
}

/** Ends a command that continues until somebody ends it as soon as it has printed something; nothing for others. */
export function endingAtFirstText([group, verb]: readonly string[]): Pick<CliSetting, "interrupt" | "onText"> {
  if (group !== "approvals" || verb !== "watch") return {};
  const ctrlC = new AbortController();
  return { interrupt: ctrlC.signal, onText: () => ctrlC.abort() };
}
