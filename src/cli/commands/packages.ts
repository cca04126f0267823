import type { Answer } from "#client/index.ts";
import { packageHistoryLimit, packageListLimit } from "#contract/limits.ts";
import { counted, formatBytes, listNames } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { withProgress } from "../output/progress.ts";
import { printTable } from "../output/table.ts";
import { formatAge } from "../output/text.ts";

function printFound(io: Io, { packages, total }: Answer<"searchPackages">): void {
  printTable(io, packages, {
    package: ({ name }) => name,
    version: ({ version }) => version,
    installed: ({ version, installed_version: present }) => (present === version ? "yes" : (present ?? "")),
    summary: ({ summary }) => summary,
  });
  const shown = packages.length < total ? `${packages.length} of ` : "";
  io.out(`${shown}${counted(total, "package")}${shown === "" ? "" : " (--limit shows more)"}\n`);
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
  for (const line of found.description === "" ? [] : found.description.split("\n")) io.out(`  ${oneLine(line)}\n`);
  for (const path of found.files ?? []) io.out(`${oneLine(path)}\n`);
}

const stepOf = ({ action, name, from, to }: Answer<"listPackageHistory">["transactions"][number]["packages"][number]) =>
  `${action} ${name} ${[from, to].filter((version) => version !== null).join(" → ")}`;

function printHistory(io: Io, { transactions }: Answer<"listPackageHistory">, now: number): void {
  for (const { started_at: at, command, requested_by: by, error, packages } of transactions) {
    const who = by === null ? "" : ` by ${by}`;
    io.out(`${oneLine(`${formatAge(at, now)}${who}: ${command ?? "(the command is not shown)"}`)}\n`);
    for (const each of packages.filter(({ automatic }) => !automatic)) io.out(`  ${oneLine(stepOf(each))}\n`);
    const along = packages.filter(({ automatic }) => automatic).length;
    if (along > 0) io.out(`  and ${counted(along, "package")} that came along\n`);
    if (error !== null) io.out(`  ${oneLine(error)}\n`);
  }
  io.out(`${counted(transactions.length, "transaction")}\n`);
}

/** Adds the commands that look at packages. */
export function addPackagesCommands(program: Command, ports: CommandPorts): void {
  const { io, now } = ports;
  const packages = program
    .command("packages")
    .description("packages of the host: find them, and see what became of them");
  const search = packages
    .command("search")
    .description("find packages by words in their names and descriptions")
    .argument("[words...]", "words, all of which have to be there")
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
    .argument("<name>", "its name")
    .option("--files", "list the files of the installed package");
  answerCommand(ports, show, {
    ask: (client, name: string, { files = false }: { files?: boolean }) =>
      withProgress(io, `asking about ${name}`, () => client.getPackage({ params: { name }, query: { files } })),
    print: printPackage,
  });
  const history = packages
    .command("history")
    .description("what was installed and removed, by whomever, newest first")
    .limit({ ...packageHistoryLimit });
  answerCommand(ports, history, {
    ask: (client, { limit }: { limit: number }) => client.listPackageHistory({ query: { limit } }),
    print: (_, answer) => printHistory(io, answer, now()),
  });
}
