import type { BackupDirectories } from "#domain/ports/backups.ts";
import { isNotInstalled, type RunProgram } from "#domain/ports/host-files.ts";
import type { Timers, Units } from "#domain/ports/units.ts";
import { lazy } from "#kernel/async.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { errorMessage, orUndefined } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import { isNumber, isString, parseJsonObject, recordsIn } from "#kernel/values.ts";
import { type BuiltInCheck, type CheckSettings, createIgnore, grade, skip, thresholdsFor } from "../check.ts";
import { combineFindings, type Finding } from "../grading.ts";

/** A backup of the settings, by what shows when it was made last. Limits are hours, those of the check unless given. */
export type BackupTarget = {
  readonly name: string;
  readonly warn?: number;
  readonly fail?: number;
} & (
  | { readonly kind: "folder"; readonly folder: string; readonly pattern: string }
  /** A timer, or a service. */
  | { readonly kind: "unit"; readonly unit: string }
  /** A configuration of snapper. */
  | { readonly kind: "snapper"; readonly config: string }
);

type FoundDirectories = () => ReturnType<BackupDirectories["newest"]>;

interface Age {
  /** Epoch milliseconds of the last backup; null where none is known. */
  readonly at: number | null;
  /** What shows it, for the message: `the newest file is …`. */
  readonly shownBy: string;
  /** Why no backup counts. */
  readonly fault?: string;
  /** Whether that is only not known. */
  readonly isUnknown?: true;
}

const hourMs = 3_600_000;
/** Files of other hosts may be this much from the future. */
const clockStepMs = 10 * 60_000;

/** Of a unit that ran: a failed run does not say when the last good one was. */
function ageOfRun(
  unit: string,
  state: { readonly activeState: string; readonly result: string; readonly at: number | null },
): Age {
  const { activeState, result, at } = state;
  const shownBy = activeState === "activating" ? `${unit} has been running since` : `${unit} last succeeded`;
  const hasFailed = activeState === "failed" || (result !== "" && result !== "success");
  if (hasFailed)
    return { at: null, shownBy, fault: `the last run of ${unit} failed (${result}; journalctl -u ${unit})` };
  return at === null ? { at, shownBy, fault: `systemd knows of no run of ${unit} since boot` } : { at, shownBy };
}

/** A snapshot of snapper. */
interface Snapshot {
  readonly number: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** `snapper --jsonout list`, snapper(8): number 0 is the present state and has no date. */
function parseSnapshots(text: string, config: string): readonly Snapshot[] {
  return recordsIn(parseJsonObject(text)?.[config]).flatMap(({ number, date }) => {
    const createdAt = isString(date) ? Date.parse(`${date.replace(" ", "T")}Z`) : Number.NaN;
    return isNumber(number) && number > 0 && !Number.isNaN(createdAt) ? [{ number, createdAt }] : [];
  });
}

/**
 * Of a configuration of snapper; asks the program itself, and not its service, which would be started for it.
 * @throws Error with snapper's own words where it refuses, as for a configuration that it does not have.
 */
async function readSnapshots(exec: RunProgram, config: string, signal: AbortSignal): Promise<readonly Snapshot[]> {
  const output = ["--no-dbus", "--jsonout", "--utc"] as const;
  const argv = ["snapper", ...output, "-c", config, "list", "--columns", "number,date"] as const;
  const ended = await orUndefined(exec(argv, { signal, timeoutMs: 20_000 }), isNotInstalled);
  if (ended === undefined) throw new Error("snapper is not installed");
  const { exitCode, stdout, stderr } = ended;
  if (exitCode !== 0) throw new Error(`snapper: ${(stderr || stdout).trim() || `exit code ${exitCode}`}`);
  return parseSnapshots(stdout, config);
}

interface Ports {
  readonly backupTargets: readonly BackupTarget[];
  readonly backupDirectories: BackupDirectories;
  readonly exec: RunProgram;
  readonly timers: Timers;
  readonly units: Pick<Units, "read">;
  readonly clock: Pick<Clock, "now">;
}

/** What shows how old the backup of a target is. */
function createAges({ exec, timers, units, clock }: Omit<Ports, "backupTargets" | "backupDirectories">) {
  const ageOfTimer = async (name: string): Promise<Age> => {
    const timer = (await timers.list())?.find((each) => each.name === name);
    if (timer === undefined)
      return { at: null, shownBy: name, fault: `${name} is not active (systemctl enable --now)` };
    const { unit, unitActiveState, unitResult, unitSince, lastStartAt } = timer;
    // A run before the last boot is known by the timer alone.
    return ageOfRun(unit, { activeState: unitActiveState, result: unitResult, at: unitSince ?? lastStartAt });
  };
  const ageOfService = async (name: string): Promise<Age> => {
    const { loadState, activeState, result, since } = await units.read(name);
    if (loadState === "not-found") return { at: null, shownBy: name, fault: `there is no unit ${name}` };
    const age = ageOfRun(name, { activeState, result, at: since });
    const isUnknown = age.at === null && !(activeState === "failed" || (result !== "" && result !== "success"));
    if (!isUnknown) return age;
    return { ...age, fault: `${age.fault} (name its timer instead, which knows of earlier runs)`, isUnknown: true };
  };
  const ageInDirectory = async (directory: string, pattern: string, directories: FoundDirectories): Promise<Age> => {
    const found = (await directories())({ directory, pattern });
    if (found === undefined) return { at: null, shownBy: directory, fault: `there is no directory ${directory}` };
    const { newest, isComplete } = found;
    const among = isComplete ? "" : " of those that were read";
    if (newest === undefined)
      return { at: null, shownBy: directory, fault: `no file${among} in ${directory} is a backup` };
    return { at: newest.modifiedAt, shownBy: `the newest file${among} is ${newest.path}` };
  };
  const ageOfSnapshot = async (config: string, signal: AbortSignal): Promise<Age> => {
    const latestAt = clock.now() + clockStepMs;
    const snapshots = (await readSnapshots(exec, config, signal)).filter(({ createdAt }) => createdAt <= latestAt);
    const newest = snapshots.toSorted((a, b) => a.createdAt - b.createdAt).at(-1);
    if (newest === undefined) return { at: null, shownBy: config, fault: `snapper has no snapshot of ${config}` };
    return { at: newest.createdAt, shownBy: `the newest snapshot of ${config} is ${newest.number}` };
  };
  return (target: BackupTarget, directories: FoundDirectories, signal: AbortSignal): Promise<Age> => {
    if (target.kind === "folder") return ageInDirectory(target.folder, target.pattern, directories);
    if (target.kind === "snapper") return ageOfSnapshot(target.config, signal);
    return target.unit.endsWith(".timer") ? ageOfTimer(target.unit) : ageOfService(target.unit);
  };
}

/** In hours. */
const limits = { warn: 26, fail: 50 };

export function backupAgeCheck(ports: Ports): BuiltInCheck {
  const { backupTargets, backupDirectories, clock } = ports;
  const ageOf = createAges(ports);

  const judge = async (
    target: BackupTarget,
    settings: CheckSettings,
    directories: FoundDirectories,
    signal: AbortSignal,
  ) => {
    const { warn, fail } = thresholdsFor(limits, settings);
    const { at, shownBy, fault, isUnknown } = await ageOf(target, directories, signal).catch(
      (error: unknown): Age => ({ at: null, shownBy: "", fault: errorMessage(error) }),
    );
    signal.throwIfAborted();
    const ageHours = at === null ? null : Math.max(0, Math.floor((clock.now() - at) / hourMs));
    const finding: Finding =
      fault !== undefined || ageHours === null
        ? { status: isUnknown ? "warn" : "fail", problem: `backup ${target.name}: ${fault ?? "its age is unknown"}` }
        : {
            status: grade(ageHours, { warn: target.warn ?? warn, fail: target.fail ?? fail }),
            problem: `backup ${target.name} is ${ageHours} h old: ${shownBy}`,
          };
    return { ...finding, name: target.name, at, ageHours };
  };

  return {
    id: "backup_age",
    name: "Age of backups",
    category: "storage",
    severity: "high",
    thresholds: limits,
    about:
      "How old the last backups are that the settings name in `targets`: by the newest file of a directory that is " +
      "not empty, by the last success of a service or of what a timer starts, or by the newest snapshot of " +
      "snapper. By default 26 hours warn, 50 fail; a failed run fails, and so does a directory without a file; a " +
      "service without a run since boot warns. Files and snapshots from the future do not count. `warn` and `fail` " +
      "are hours, those of a target are times such as `26h`. `ignore` takes names of targets.",
    meaning: "The last backup is too old or failed, or no backup exists.",
    remedy: "Run the backup by hand and see why it failed; then test that it can be restored.",
    intervalMs: 15 * 60_000,
    absent: () =>
      Promise.resolve(
        backupTargets.length > 0 ? undefined : skip("The settings name no backup (health.checks.backup_age.targets)"),
      ),
    async run(settings, signal) {
      const isIgnored = createIgnore(settings.ignore);
      const watched = backupTargets.filter(({ name }) => !isIgnored(name));
      if (watched.length === 0) return skip("The settings ignore every backup");
      const wanted = watched.flatMap((target) =>
        target.kind === "folder" ? { directory: target.folder, pattern: target.pattern } : [],
      );
      const directories = lazy(() => backupDirectories.newest(wanted, clock.now() + clockStepMs, signal));
      const findings = await Promise.all(watched.map((target) => judge(target, settings, directories, signal)));
      return combineFindings(findings, `${counted(findings.length, "backup")}, all recent`, {
        backups: findings.map(({ name, status, at, ageHours }) => ({
          name,
          status,
          last_at: at === null ? null : toTimestamp(at),
          age_hours: ageHours,
        })),
      });
    },
  };
}
