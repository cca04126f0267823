import type { Answer } from "#client/index.ts";
import type { ChangedPackage, StaleRestart, UnitRestart, UpdateApply } from "#contract/updates.ts";
import { counted } from "#kernel/text.ts";
import { commandGroup, listCommand, longCommand, showCommand } from "../core/operation-command.ts";
import { limitWord } from "../core/operation-words.ts";
import { type Io, oneLine, screenOf } from "../output/output.ts";
import { paint } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { formatSpan, formatTime } from "../output/text.ts";
import { operationColumns } from "./operations.ts";

function printUpdates(io: Io, check: Answer<"checkUpdates">): void {
  const { packages, system, held, cache_age_seconds: age, security_known: isKnown } = check;
  const screen = screenOf(io);
  if (packages.total > 0) {
    printTable(io, packages.updates, {
      package: "name",
      installed: "current_version",
      new: "new_version",
      "": (each) => ({ text: each.is_security ? "security" : "", style: "red" }),
    });
  }
  if (system.available) io.out(`release ${oneLine(system.version)} of ${oneLine(system.release_date)}\n`);
  if (held.length > 0) io.out(`held back: ${oneLine(held.join(", "))}\n`);
  if (check.requires_reboot) io.out(`${paint(screen, "yellow", "an earlier update waits for a reboot")}\n`);
  if (check.requires_restart.length > 0) io.out(`to be restarted: ${oneLine(check.requires_restart.join(", "))}\n`);
  const security = isKnown ? `, ${packages.security} of them security updates` : "";
  const total = packages.total === 0 ? "nothing to update" : `${counted(packages.total, "update")}${security}`;
  const manager = oneLine(check.package_manager);
  if (age !== null) io.out(`${total} (${manager}, lists ${formatSpan(age)} old)\n`);
  else io.out(`updates are not known (${manager}): no package lists: --refresh fetches them\n`);
}

const changeOf = ({ name, from, to }: ChangedPackage): string => {
  if (from === null) return `${name} ${to} installed`;
  return to === null ? `${name} ${from} removed` : `${name} ${from} → ${to}`;
};

export function printChanges(io: Io, packages: readonly ChangedPackage[]): void {
  for (const each of packages) io.out(`  ${oneLine(changeOf(each))}\n`);
}

const printRestart = (io: Io, { unit, success, message }: UnitRestart): void =>
  success ? io.out(`${oneLine(message)}\n`) : io.err(`steward: cannot restart ${oneLine(unit)}: ${oneLine(message)}\n`);

function printStale(io: Io, report: Answer<"listStale">): void {
  const { restartable, left, processes, hidden_processes: hidden, service_manager: isManager, kernel } = report;
  printTable(io, processes, {
    pid: "pid",
    process: "name",
    service: "unit",
    "uses replaced files": ({ files: [first = "", ...others] }) =>
      others.length === 0 ? first : `${first} and ${others.length} more`,
  });
  if (restartable.length > 0) io.out(`to be restarted: ${oneLine(restartable.join(", "))}\n`);
  for (const { unit, reason } of left) io.out(`left alone: ${oneLine(unit)}, ${oneLine(reason)}\n`);
  if (isManager) io.out("systemd itself uses replaced files (systemctl daemon-reexec, or a reboot)\n");
  if (kernel.newest !== null)
    io.out(`kernel ${oneLine(kernel.running)} runs, ${oneLine(kernel.newest)} is installed\n`);
  if (report.requires_reboot) io.out("a reboot is needed\n");
  if (hidden > 0) io.out(`${counted(hidden, "process", "processes")} could not be inspected\n`);
  io.out(`${counted(processes.length, "process", "processes")} using replaced files\n`);
}

function printRestarted(io: Io, result: StaleRestart): void {
  for (const each of result.restarted) printRestart(io, each);
  for (const { unit, reason } of result.left) io.out(`left alone: ${oneLine(unit)}, ${oneLine(reason)}\n`);
  for (const unit of result.still_stale) io.out(`still uses replaced files: ${oneLine(unit)}\n`);
  if (result.requires_reboot) io.out("a reboot is needed\n");
  io.out(`${oneLine(result.message)}\n`);
}

function printAutomatic(
  io: Io,
  { enabled, what, guard, reboot, blocked, next, last }: Answer<"getAutomaticUpdates">,
): void {
  if (!enabled) {
    io.out("no automatic updates (updates.automatic in the settings)\n");
    return;
  }
  const watched = guard ? ", with a guard" : "";
  io.out(`${what === "security" ? "security updates" : "all updates"}${watched}; reboot: ${oneLine(reboot)}\n`);
  if (next !== null) io.out(`next: ${formatTime(next.starts_at)}, in the window from ${formatTime(next.opens_at)}\n`);
  if (last !== null) io.out(`last: ${formatTime(last.ended_at)}, ${oneLine(last.outcome)}: ${oneLine(last.message)}\n`);
  if (blocked !== null) io.err(`steward: nothing would be installed: ${oneLine(blocked)}\n`);
}

function printApplied(io: Io, result: UpdateApply): void {
  const { success, packages, packages_updated: updated, snapshot_id: snapshot, error, guard } = result;
  printChanges(io, packages);
  if (snapshot !== "") io.out(`snapshot taken before: ${oneLine(snapshot)}\n`);
  if (guard !== undefined) io.out(`guard: ${oneLine(guard.message)}\n`);
  for (const { file, offered } of result.kept_configs ?? [])
    io.out(`kept as changed here: ${oneLine(file)} (the new version is ${oneLine(offered)})\n`);
  for (const each of result.restarted ?? []) printRestart(io, each);
  if (result.requires_restart.length > 0) io.out(`to be restarted: ${oneLine(result.requires_restart.join(", "))}\n`);
  if (result.requires_reboot) io.out("a reboot is needed\n");
  if (error !== null) io.err(`steward: ${oneLine(error)}\n`);
  io.out(`${counted(updated, "package")} updated${success ? "" : ", with problems"}\n`);
}

const applyUpdates = longCommand("applyUpdates", "apply", {
  about: "install updates: shows what would be done, asks, does it, and shows its progress",
  notes: `Ctrl-C stops following the update, not the update itself: steward operations watch shows it again.

Exit code: 0 done, 1 there were problems, or you said no, 2 the request failed, 130 after Ctrl-C.`,
  words: {
    type: {
      as: "--type <type>",
      about: "packages removes none but old kernels; system and all upgrade as the distribution does",
      default: "packages",
    },
    security_only: { as: "--security", about: "exactly the security updates, never anything else" },
    packages: { as: "--package <name>", about: "only this package and what it needs; may be repeated" },
    create_snapshot: [
      { as: "--no-snapshot", about: "do not take a snapshot first" },
      {
        as: "--require-rollback",
        about: "refuse where the snapshot could not return every package",
        means: "required",
      },
    ],
    guard: {
      as: "--guard",
      about: "compare units, ports and checks afterwards, and roll back when something is worse",
    },
    restart_stale: { as: "--restart-stale", about: "restart services that then use replaced files" },
  },
  question: ({ packages }) => (packages.length > 0 ? `Update ${counted(packages.length, "package")}?` : "Go on?"),
  print: printApplied,
});

export const addUpdatesCommands = commandGroup(
  { name: "updates", about: "list and install updates", preset: "check" },
  [
    showCommand("checkUpdates", "check", {
      about: "list available updates",
      words: { refresh: { as: "--refresh", about: "refresh the package lists first" } },
      progress: "asking for updates",
      print: printUpdates,
    }),
    applyUpdates,
    showCommand("listStale", "stale", {
      about: "processes that still use replaced programs and libraries",
      print: printStale,
    }),
    longCommand("restartStale", "restart-stale", {
      about: "restart services that still use replaced files, except those whose restart needs a chosen time",
      question: ({ units }) => `Restart ${counted(units.length, "service")}?`,
      print: printRestarted,
    }),
    showCommand("getAutomaticUpdates", "automatic", {
      about: "updates that the service installs by itself: when the next are due, and what became of the last",
      print: printAutomatic,
    }),
    listCommand("listOperations", "history", {
      about: "updates, rollbacks and snapshots that were asked for, newest first",
      words: { limit: limitWord(50) },
      rows: "operations",
      columns: (_, asked) => operationColumns(asked),
      counts: "operation",
    }),
  ],
);
