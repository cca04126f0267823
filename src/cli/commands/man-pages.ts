import { type ArgumentNode, allCommands, type CommandNode, type OptionNode } from "../core/command-tree.ts";

export interface ManPage {
  readonly file: string;
  readonly text: string;
}

const roff = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("`", "\\(ga")
    .replaceAll(/^(?=[.'])/gm, "\\&");

const roffArgument = (text: string): string => `"${roff(text).replaceAll('"', "\\(dq")}"`;

const prose = (text: string): string =>
  text
    .split(/(`[^`\n]+`)/)
    .map((part) => (/^`.+`$/s.test(part) ? `\\fB${roff(part.slice(1, -1))}\\fR` : roff(part)))
    .join("")
    .replaceAll(/^(?=[.'])/gm, "\\&");

const paragraph = (tag: string, text: string): string => `.TP\n.B ${roffArgument(tag)}\n${prose(text)}\n`;

const optionsSection = (options: readonly OptionNode[]): string =>
  options.map(({ flags, description }) => paragraph(flags, description)).join("");
const argumentsOf = (list: readonly ArgumentNode[]): string =>
  list.map(({ term, description }) => paragraph(term, description === "" ? "see above" : description)).join("");

/** Notes as help prints them: indented lines stay as they are. */
const notesOf = (notes: string): string =>
  notes
    .split(/\n{2,}/)
    .map((block) =>
      block
        .split(/\n(?=\S)|(?<=^\S.*)\n(?=\s)/m)
        .map((part) => (/^\s/.test(part) ? `.PP\n.nf\n.RS 2\n${roff(part)}\n.RE\n.fi\n` : `.PP\n${prose(part)}\n`))
        .join(""),
    )
    .join("");

const sentence = (text: string): string =>
  text === "" ? "" : `${text[0]?.toUpperCase()}${text.slice(1)}.`.replace(/\.\.$/, ".");

function sectionOf(node: CommandNode): string {
  return [
    `.SS ${roffArgument(node.usage)}\n`,
    `${prose(sentence(node.description))}\n`,
    node.preset === undefined ? "" : `Where no command is named, ${node.preset.name} is meant.\n`,
    argumentsOf(node.arguments),
    optionsSection(node.options),
    node.notes === "" ? "" : notesOf(node.notes),
  ].join("");
}

const section = "1";
const pageName = (node: CommandNode): string => ["steward", ...node.path.slice(0, 1)].join("-");

const files: readonly (readonly [path: string, what: string])[] = [
  ["/etc/steward/config.yaml", "settings"],
  [
    "/var/lib/steward/admin.key",
    "the key of the local service; ~/.local/state/steward/admin.key where it is not run by root",
  ],
];

const variables: readonly (readonly [name: string, what: string])[] = [
  ["STEWARD_URL", "address of the service, as `--url`"],
  ["STEWARD_CONTEXT", "host to ask, as `--context`"],
  ["STEWARD_API_KEY", "the key itself"],
  ["STEWARD_CONFIG", "settings file"],
  ["NO_COLOR", "no colours, whatever its value"],
  ["FORCE_COLOR", "colours in a pipe too"],
];

const statuses: readonly (readonly [code: string, what: string])[] = [
  ["0", "all well"],
  ["1", "it was done, and what was found is trouble; or it was not done because you said no"],
  ["2", "it could not be done"],
  ["130", "ended by Ctrl-C"],
];

const taggedList = (entries: readonly (readonly [string, string])[]): string =>
  entries.map(([name, what]) => paragraph(name, what)).join("");

interface Edition {
  readonly version: string;
  /** YYYY-MM-DD. */
  readonly date: string;
}

function pageOf(node: CommandNode, root: CommandNode, { version, date }: Edition): ManPage {
  const name = pageName(node);
  const isRoot = node.path.length === 0;
  const others = isRoot ? root.commands : [root];
  const below = isRoot ? [] : allCommands(node).slice(1);
  const parts = [
    `.TH ${roffArgument(name.toUpperCase())} ${section} "${date}" ${roffArgument(`Steward ${version}`)} "User Commands"\n`,
    `.SH NAME\n${roff(name)} \\- ${prose(node.description.replace(/\.$/, ""))}\n`,
    `.SH SYNOPSIS\n.B ${roffArgument(node.usage)}\n`,
    `.SH DESCRIPTION\n${prose(sentence(node.description))}\n`,
    node.preset === undefined ? "" : `Where no command is named, ${node.preset.name} is meant.\n`,
    node.notes === "" ? "" : notesOf(node.notes),
    isRoot ? `.SH COMMANDS\n${taggedList(node.commands.map((each) => [each.name, each.description]))}` : "",
    node.arguments.length > 0 ? `.SH ARGUMENTS\n${argumentsOf(node.arguments)}` : "",
    node.options.length > 0 ? `.SH OPTIONS\n${optionsSection(node.options)}` : "",
    below.length > 0 ? `.SH COMMANDS\n${below.map(sectionOf).join("")}` : "",
    `.SH "EXIT STATUS"\n${taggedList(statuses)}`,
    isRoot ? `.SH ENVIRONMENT\n${taggedList(variables)}.SH FILES\n${taggedList(files)}` : "",
    `.SH "SEE ALSO"\n${others.map((each) => `.BR ${roffArgument(pageName(each))} (${section})`).join(",\n")}\n`,
  ];
  return { file: `${name}.${section}`, text: parts.join("") };
}

/** One page for the program and one for each command, with all that is below it. */
export const manPages = (root: CommandNode, edition: Edition): readonly ManPage[] => [
  pageOf(root, root, edition),
  ...root.commands.map((node) => pageOf(node, root, edition)),
];
