import type { Answer } from "#client/index.ts";
import { packageHistoryLimit, packageListLimit } from "#contract/limits.ts";
import type { PackagesChanged } from "#contract/package-changes.ts";
import { counted, formatBytes, listNames } from "#kernel/text.ts";
import {
  type AddCommand,
  changingCommand,
  commandGroup,
  listCommand,
  longCommand,
  showCommand,
} from "../core/operation-command.ts";
import { type Asked, limitWord } from "../core/operation-words.ts";
import { type Io, oneLine, screenOf } from "../output/output.ts";
import { printMessage, printNotShown } from "../output/print.ts";
import { fitText, formatAge } from "../output/text.ts";
import { printChanges } from "./updates.ts";

const searchPackages = listCommand("searchPackages", "search", {
  about: "find packages by words in their names and descriptions",
  words: {
    search: { as: "[words...]", about: "words, all of which have to match", join: " " },
    installed: { as: "--installed", about: "only packages that are installed" },
    limit: limitWord(packageListLimit.default),
  },
  progress: "searching",
  rows: "packages",
  columns: {
    package: "name",
    version: "version",
    installed: ({ version, installed_version: present }) => (present === version ? "yes" : (present ?? "")),
    summary: "summary",
  },
  counts: "package",
  more: "--limit",
});

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

function printHistory(
  io: Io,
  { transactions, not_shown: missing }: Answer<"listPackageHistory">,
  { now }: Asked<"listPackageHistory">,
): void {
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

const packagesCommand = (
  operation: "installPackages" | "removePackages" | "purgePackages",
  doing: string,
  about: string,
): AddCommand =>
  longCommand(operation, doing.toLowerCase(), {
    about: `${about}: shows what would be done, asks, does it, and shows its progress`,
    notes: `Ctrl-C stops following the change, not the change itself: steward operations watch shows it again.

Exit code: 0 done, 1 there were problems, or you said no, 2 the request failed, 130 after Ctrl-C.`,
    words: {
      packages: {
        as: "<names...>",
        about: "names of packages",
        names: operation === "installPackages" ? "package" : "installed",
      },
      create_snapshot: { as: "--no-snapshot", about: "do not take a snapshot first" },
      guard: {
        as: "--guard",
        about: "compare units, ports and checks afterwards, and roll back when something is worse",
      },
    },
    question: (plan) => `${doing} (${counted(plan.packages.length, "package")} in all)?`,
    print: printChanged,
  });

const holdCommand = (operation: "holdPackages" | "unholdPackages", name: string, about: string): AddCommand =>
  changingCommand(operation, name, {
    about,
    notes:
      "Does not ask for confirmation: no package is changed by it. Packages that are already held, or not held, are reported as unchanged.",
    words: { packages: { as: "<names...>", about: "names of packages", names: "installed" } },
    print: printMessage,
  });

export const addPackagesCommands = commandGroup(
  { name: "packages", about: "packages of the host: find, install, remove and hold them" },
  [
    searchPackages,
    showCommand("getPackage", "show", {
      about: "one package: versions, where they come from, why it is installed, what requires it",
      words: {
        name: { as: "<name>", about: "its name", names: "package" },
        files: { as: "--files", about: "list the files of the installed package" },
      },
      progress: ({ name }) => `asking about ${name}`,
      print: printPackage,
    }),
    showCommand("listPackageHistory", "history", {
      about: "what was installed and removed, by anybody, newest first",
      words: { limit: limitWord(packageHistoryLimit.default) },
      print: printHistory,
    }),
    packagesCommand("installPackages", "Install", "install packages and what they need"),
    packagesCommand(
      "removePackages",
      "Remove",
      "remove packages, and keep their configuration, or what was changed of it",
    ),
    packagesCommand("purgePackages", "Purge", "remove packages with their configuration"),
    holdCommand("holdPackages", "hold", "keep packages at their version: neither updated nor removed"),
    holdCommand("unholdPackages", "unhold", "let packages be updated again"),
  ],
);
