import type { Answer } from "#client/index.ts";
import { packageHistoryLimit, packageListLimit } from "#contract/limits.ts";
import type { PackagesChanged } from "#contract/package-changes.ts";
import { counted, countedOf, formatBytes, listNames } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand, changeCommand, type PlannedOptions, plannedCommand } from "../core/answer-command.ts";
import { type Command, namedArgument } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine, screenOf } from "../output/output.ts";
import { printNotShown } from "../output/print.ts";
import { withProgress } from "../output/progress.ts";
import { printTable } from "../output/table.ts";
import { fitText, formatAge } from "../output/text.ts";
import { printChanges } from "./updates.ts";

function printFound(io: Io, { packages, total, not_shown: missing }: Answer<"searchPackages">): void {
  printTable(io, packages, {
    package: ({ name }) => name,
    version: ({ version }) => version,
    installed: ({ version, installed_version: present }) => (present === version ? "yes" : (present ?? "")),
    summary: ({ summary }) => summary,
  });
  io.out(`${countedOf(packages.length, total, "package")}${packages.length < total ? " (--limit shows more)" : ""}\n`);
  printNotShown(io.out, missing);
}

function printInstalled(io: Io, { installed, required_by: requiring }: Answer<"getPackage">): void {
  if (installed === null) {
    io.out("installed: no\n");
    return;
  }
  const state = installed.state === "installed" ? "" : `, ${installed.state}`;
  const held = installed.held ? ", held at its version" : "";
  io.out(`installed: ${oneLine(`${installed.version}, ${installed.reason}${held}${state}`)}\n`);
  if (requiring.length > 0)
    io.out(
      `required by: ${oneLine(
        listNames(
          requiring.map(({ name }) => name),
          10,
        ),
      )}\n`,
    );
}

function printPackage(io: Io, found: Answer<"getPackage">): void {
  io.out(`${oneLine(`${found.name} (${found.architecture}), ${found.summary}`)}\n`);
  printInstalled(io, found);
  if (found.candidate !== null) io.out(`candidate: ${oneLine(found.candidate)}\n`);
  for (const { version, origins } of found.versions)
    io.out(`  ${oneLine(`${version} ${origins.map(({ location }) => location).join(", ")}`.trimEnd())}\n`);
  if (found.installed_bytes !== null) io.out(`takes ${formatBytes(found.installed_bytes)}\n`);
  if (found.homepage !== "") io.out(`${oneLine(found.homepage)}\n`);
  for (const line of found.description === "" ? [] : found.description.split("\n"))
    io.out(`${`  ${oneLine(line)}`.trimEnd()}\n`);
  for (const path of found.files ?? []) io.out(`${oneLine(path)}\n`);
}

const stepOf = ({ action, name, from, to }: Answer<"listPackageHistory">["transactions"][number]["packages"][number]) =>
  `${action} ${name} ${[from, to].filter((version) => version !== null).join(" → ")}`;

function printHistory(io: Io, { transactions, not_shown: missing }: Answer<"listPackageHistory">, now: number): void {
  // Of its options there may be many, and what was done is below.
  const columns = screenOf(io).columns() ?? Number.POSITIVE_INFINITY;
  for (const { started_at: at, command, requested_by: by, error, packages } of transactions) {
    const who = by === null ? "" : ` by ${by}`;
    const line = oneLine(`${formatAge(at, now)}${who}: ${command ?? "(the command is not shown)"}`);
    io.out(`${fitText(line, columns)}\n`);
    for (const each of packages.filter(({ automatic }) => !automatic)) io.out(`  ${oneLine(stepOf(each))}\n`);
    const along = packages.filter(({ automatic }) => automatic).length;
    if (along > 0) io.out(`  and ${counted(along, "package")} as dependencies\n`);
    if (error !== null) io.out(`  ${oneLine(error)}\n`);
  }
  io.out(`${counted(transactions.length, "transaction")}\n`);
  printNotShown(io.out, missing);
}

function printChanged(io: Io, result: PackagesChanged): void {
  const { success, packages, packages_changed: changed, snapshot_id: snapshot, error, guard } = result;
  printChanges(io, packages);
  if (snapshot !== "") io.out(`snapshot taken before: ${oneLine(snapshot)}\n`);
  if (guard !== undefined) io.out(`guard: ${oneLine(guard.message)}\n`);
  if (result.requires_restart.length > 0) io.out(`to be restarted: ${oneLine(result.requires_restart.join(", "))}\n`);
  if (result.requires_reboot) io.out("a reboot is needed\n");
  if (error !== null) io.err(`steward: ${oneLine(error)}\n`);
  io.out(`${counted(changed, "package")} changed${success ? "" : ", with problems"}\n`);
}

interface ChangeOptions extends PlannedOptions {
  readonly snapshot?: boolean;
  readonly guard?: boolean;
}

const changes = {
  install: { name: "installPackages", doing: "Install", description: "install packages and what they need" },
  remove: {
    name: "removePackages",
    doing: "Remove",
    description: "remove packages, and keep their configuration, or what was changed of it",
  },
  purge: { name: "purgePackages", doing: "Purge", description: "remove packages with their configuration" },
} as const;

function addChangeCommand(packages: Command, verb: keyof typeof changes, ports: CommandPorts): void {
  const { name, doing, description } = changes[verb];
  const command = packages
    .command(verb)
    .description(`${description}: shows what would be done, asks, does it, and shows its progress`)
    .addArgument(namedArgument("<names...>", "names of packages", verb === "install" ? "package" : "installed"))
    .option("--no-snapshot", "do not take a snapshot first")
    .option("--guard", "compare units, ports and checks afterwards, and roll back when something is worse")
    .dryRun()
    .yes()
    .noWait()
    .json()
    .notes(`Ctrl-C stops following the change, not the change itself: steward operations watch shows it again.

Exit code: 0 done, 1 there were problems, or you said no, 2 the request failed, 130 after Ctrl-C.`);
  plannedCommand(ports, command, {
    name,
    input: (names: readonly string[], options: ChangeOptions) => ({
      body: {
        packages: [...names],
        // Left out, settings say whether one is taken.
        ...(options.snapshot === false && { create_snapshot: false }),
        guard: options.guard ?? false,
      },
    }),
    question: (plan) => `${doing} (${counted(plan.packages.length, "package")} in all)?`,
    print: printChanged,
  });
}

const holds = {
  hold: { name: "holdPackages", description: "keep packages at their version: neither updated nor removed" },
  unhold: { name: "unholdPackages", description: "let packages be updated again" },
} as const;

function addHoldCommand(packages: Command, verb: keyof typeof holds, ports: CommandPorts): void {
  const { name, description } = holds[verb];
  const command = packages
    .command(verb)
    .description(description)
    .addArgument(namedArgument("<names...>", "names of packages", "installed"))
    .notes(
      "Does not ask for confirmation: no package is changed by it. Packages that are already held, or not held, are reported as unchanged.",
    );
  changeCommand(ports, command, {
    change: (client, query, names: readonly string[]) => client[name]({ query, body: { packages: [...names] } }),
    print: (io, { message }) => io.out(`${oneLine(message)}\n`),
  });
}

/** Adds the commands that look at packages and change them. */
export function addPackagesCommands(program: Command, ports: CommandPorts): void {
  const { io, now } = ports;
  const packages = program.command("packages").description("packages of the host: find, install, remove and hold them");
  const search = packages
    .command("search")
    .description("find packages by words in their names and descriptions")
    .argument("[words...]", "words, all of which have to match")
    .option("--installed", "only packages that are installed")
    .limit({ ...packageListLimit });
  answerCommand(ports, search, {
    ask: (client, words: readonly string[], { installed, limit }: { installed?: boolean; limit: number }) =>
      withProgress(io, "searching", () =>
        client.searchPackages({ query: { search: words.join(" "), limit, ...defined({ installed }) } }),
      ),
    print: printFound,
  });
  const show = packages
    .command("show")
    .description("one package: versions, where they come from, why it is installed, what requires it")
    .addArgument(namedArgument("<name>", "its name", "package"))
    .option("--files", "list the files of the installed package");
  answerCommand(ports, show, {
    ask: (client, name: string, { files = false }: { files?: boolean }) =>
      withProgress(io, `asking about ${name}`, () => client.getPackage({ params: { name }, query: { files } })),
    print: printPackage,
  });
  const history = packages
    .command("history")
    .description("what was installed and removed, by anybody, newest first")
    .limit({ ...packageHistoryLimit });
  answerCommand(ports, history, {
    ask: (client, { limit }: { limit: number }) => client.listPackageHistory({ query: { limit } }),
    print: (_, answer) => printHistory(io, answer, now()),
  });
  for (const verb of ["install", "remove", "purge"] as const) addChangeCommand(packages, verb, ports);
  for (const verb of ["hold", "unhold"] as const) addHoldCommand(packages, verb, ports);
}
