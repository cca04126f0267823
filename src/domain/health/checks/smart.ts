import type { HostFiles, RunProgram } from "#domain/ports/host-files.ts";
import { errorMessage, isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import { isNumber, isRecord, isString, type JsonObject, parseJsonObject, recordsIn } from "#kernel/values.ts";
import { type BuiltInCheck, type CheckSettings, createIgnore, type Outcome, skip, thresholdsFor } from "../check.ts";
import { combineFindings, type Finding, passing } from "../grading.ts";

/** What a disk says of itself. Figures that its kind does not have are null. */
export interface SmartDisk {
  /** Its device, `/dev/sda`. */
  readonly name: string;
  readonly model: string;
  readonly kind: "disk" | "ssd" | "nvme";
  /** False where it predicts its own failure. */
  readonly isHealthy: boolean | null;
  /** Bits of NVMe's critical warning; 0 for none. */
  readonly criticalWarning: number;
  readonly reallocatedSectors: number | null;
  /** Sectors that it could not read and has not replaced yet. */
  readonly pendingSectors: number | null;
  /** Reads that no correction helped. */
  readonly uncorrectableErrors: number | null;
  /** How much of its rated endurance is used; may exceed 100. */
  readonly wearPercent: number | null;
  readonly celsius: number | null;
  readonly powerOnHours: number | null;
  /** The last self-test that ended; `ageHours` is in hours that the disk was on. */
  readonly selfTest: { readonly hasPassed: boolean; readonly ageHours: number | null } | null;
}

/** A disk that was found and says nothing of its health now. */
interface UnreadDisk {
  readonly name: string;
  /** Why, in a few words: `in standby`, or what the program says. */
  readonly unread: string;
}

/** A member at the end of a path; undefined where the path does not lead anywhere. */
function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((found, name) => (isRecord(found) ? found[name] : undefined), value);
}

const number = (value: unknown): number | null => (isNumber(value) ? value : null);
const string = (value: unknown): string => (isString(value) ? value : "");

interface ScannedDevice {
  readonly name: string;
  readonly type: string;
}

/** `smartctl --json --scan`. */
export const parseScan = (text: string): readonly ScannedDevice[] =>
  recordsIn(parseJsonObject(text)?.["devices"]).map(({ name, type }) => ({ name: string(name), type: string(type) }));

/** Why a report has no verdict, for people. */
function whyUnread(text: string, exitCode: number): string {
  const report = parseJsonObject(text);
  const messages = recordsIn(at(report, "smartctl", "messages")).map(({ string: message }) => string(message).trim());
  if (
    messages.some((message) => /\bin (?:STANDBY|SLEEP)\b/.test(message)) ||
    at(report, "power_mode", "ata_value") === 0
  )
    return "in standby";
  if (at(report, "smart_support", "available") === false) return "without SMART";
  return messages.find((message) => message !== "") ?? (exitCode === 0 ? "no verdict" : `exit status ${exitCode}`);
}

const kindOf = (report: JsonObject): SmartDisk["kind"] => {
  if (at(report, "device", "protocol") === "NVMe") return "nvme";
  return at(report, "rotation_rate") === 0 ? "ssd" : "disk";
};

function selfTestOf(report: JsonObject, powerOnHours: number | null): SmartDisk["selfTest"] {
  const age = (hours: unknown): number | null =>
    powerOnHours === null || !isNumber(hours) ? null : Math.max(0, powerOnHours - hours);
  const log = at(report, "ata_smart_self_test_log", "standard", "table");
  const ended = recordsIn(log).find(({ status }) => typeof at(status, "passed") === "boolean");
  if (ended !== undefined)
    return { hasPassed: at(ended["status"], "passed") === true, ageHours: age(ended["lifetime_hours"]) };
  // 0: passed; 5 to 7: failed; others were aborted.
  const results = recordsIn(at(report, "nvme_self_test_log", "table"));
  const resultOf = (each: JsonObject): unknown => at(each, "self_test_result", "value");
  const nvme = results.find((each) => [0, 5, 6, 7].some((value) => value === resultOf(each)));
  return nvme === undefined ? null : { hasPassed: resultOf(nvme) === 0, ageHours: age(nvme["power_on_hours"]) };
}

/** `smartctl --json --all`; undefined for a device without SMART, or one that sleeps. */
export function parseReport(text: string): SmartDisk | undefined {
  const report = parseJsonObject(text);
  const nvme = at(report, "nvme_smart_health_information_log");
  const passed = at(report, "smart_status", "passed");
  if (report === undefined || (typeof passed !== "boolean" && !isRecord(nvme))) return undefined;
  const attributes = recordsIn(at(report, "ata_smart_attributes", "table"));
  /** Raw values may have more than the count in their upper bytes. */
  const raw = (id: number): number | null => {
    const value = number(
      at(
        attributes.find((each) => each["id"] === id),
        "raw",
        "value",
      ),
    );
    return value === null ? null : value % 2 ** 32;
  };
  const uncorrected = ["read", "write", "verify"].map((each) =>
    number(at(report, "scsi_error_counter_log", each, "total_uncorrected_errors")),
  );
  const scsiErrors = uncorrected.every((each) => each === null)
    ? null
    : uncorrected.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const powerOnHours = number(at(report, "power_on_time", "hours"));
  return {
    name: string(at(report, "device", "name")),
    model: string(report["model_name"]) || string(report["scsi_model_name"]),
    kind: kindOf(report),
    isHealthy: typeof passed === "boolean" ? passed : null,
    criticalWarning: number(at(nvme, "critical_warning")) ?? 0,
    reallocatedSectors: raw(5) ?? number(report["scsi_grown_defect_list"]),
    pendingSectors: raw(197),
    uncorrectableErrors: raw(198) ?? number(at(nvme, "media_errors")) ?? scsiErrors,
    wearPercent: number(at(nvme, "percentage_used")) ?? number(at(report, "endurance_used", "current_percent")),
    celsius: number(at(report, "temperature", "current")),
    powerOnHours,
    selfTest: selfTestOf(report, powerOnHours),
  };
}

const program = "/usr/sbin/smartctl";
const timeoutMs = 20_000;
const mostDisks = 64;
/** Bits of the exit code that say that smartctl could not ask, smartctl(8); the others are about the disk. */
const notAsked = 0b11;

/** Whether there is a disk to ask, and a program to ask with; no rights are needed to tell. */
async function canAsk(files: Pick<HostFiles, "names" | "target" | "stat">): Promise<boolean> {
  if ((await orUndefined(files.stat(program))) === undefined) return false;
  const names = (await orUndefined(files.names("/sys/block"), isPermissionDenied)) ?? [];
  const places = names
    .filter((name) => /^(sd|nvme|hd)/.test(name))
    .map((name) => orUndefined(files.target(`/sys/block/${name}`)));
  // Disks of virtual machines, and what is made of files and other disks, have no SMART.
  return (await Promise.all(places)).some((place) => place !== undefined && !place.includes("/devices/virtual/"));
}

async function ask(
  exec: RunProgram,
  { name, type }: ScannedDevice,
  isShared: boolean,
  signal: AbortSignal,
): Promise<SmartDisk | UnreadDisk> {
  // The scan calls each disk of the SCSI layer so, SATA disks too: smartctl recognises them where it is not given their type.
  const typed = type === "scsi" || type === "" ? [] : [`--device=${type}`];
  const argv = [program, "--json", "--all", "--nocheck=standby,0", ...typed, name] as const;
  const shown = isShared ? `${name} (${type})` : name;
  const ended = await exec(argv, { signal, timeoutMs }).catch((error: unknown) => {
    signal.throwIfAborted();
    return { unread: errorMessage(error) };
  });
  if ("unread" in ended) return { name: shown, ...ended };
  const { exitCode, stdout } = ended;
  const report = (exitCode & notAsked) === 0 ? parseReport(stdout) : undefined;
  if (report === undefined) return { name: shown, unread: whyUnread(stdout, exitCode) };
  return isShared ? { ...report, name: shown } : report;
}

/** All that are found. Disks in standby are not woken. @throws without an answer of the program, which takes root. */
export async function readDisks(exec: RunProgram, signal: AbortSignal): Promise<readonly (SmartDisk | UnreadDisk)[]> {
  const { exitCode, stdout, stderr } = await exec([program, "--json", "--scan"], { signal, timeoutMs });
  if ((exitCode & notAsked) !== 0) throw new Error(`cannot ask smartctl: ${stderr.trim() || `exit code ${exitCode}`}`);
  const devices = parseScan(stdout).slice(0, mostDisks);
  // The disks of a RAID controller are asked through one device.
  const isShared = ({ name }: ScannedDevice): boolean => devices.filter((each) => each.name === name).length > 1;
  return Promise.all(devices.map((each) => ask(exec, each, isShared(each), signal)));
}

/** A disk replaces a few sectors in its life, and continues for years. */
const manySectors = 10;
const hotCelsius: Readonly<Record<SmartDisk["kind"], number>> = { disk: 60, ssd: 70, nvme: 80 };

/** The bits of NVMe's critical warning, as the specification has them. */
const nvmeWarnings = [
  "has no spare blocks left",
  "is too hot",
  "is no longer reliable",
  "can only be read",
  "lost its power backup",
];
const heatBit = 1;

/** The worst that a disk says. */
function findingOf(disk: SmartDisk, limits: { readonly warn: number; readonly fail: number }): Finding {
  const { kind, isHealthy, criticalWarning, reallocatedSectors, pendingSectors, uncorrectableErrors, wearPercent } =
    disk;
  const name = disk.model === "" ? disk.name : `${disk.name} (${disk.model})`;
  const fail = (problem: string): Finding => ({ status: "fail", problem: `${name} ${problem}` });
  const warn = (problem: string): Finding => ({ status: "warn", problem: `${name} ${problem}` });
  const bit = nvmeWarnings.findIndex((_, at) => at !== heatBit && ((criticalWarning >> at) & 1) === 1);
  if (bit >= 0) return fail(`${nvmeWarnings[bit]} (replace it)`);
  if (isHealthy === false && criticalWarning === 0)
    return fail("predicts that it will fail soon (save its data, replace it)");
  if (wearPercent !== null && wearPercent >= limits.fail)
    return fail(`is worn: ${wearPercent} % of its endurance is used`);
  if ((pendingSectors ?? 0) > 0) return warn(`has ${counted(pendingSectors ?? 0, "sector")} that it cannot read`);
  if ((uncorrectableErrors ?? 0) > 0)
    return warn(`could not read data ${counted(uncorrectableErrors ?? 0, "time")} (check backups)`);
  if ((reallocatedSectors ?? 0) >= manySectors)
    return warn(`has replaced ${reallocatedSectors} bad sectors (plan to replace it)`);
  if (disk.selfTest?.hasPassed === false) return warn("failed its last self-test");
  if (((criticalWarning >> heatBit) & 1) === 1 || (disk.celsius ?? 0) >= hotCelsius[kind])
    return warn(`is too hot: ${disk.celsius ?? "?"} °C (check fans and air flow)`);
  if (wearPercent !== null && wearPercent >= limits.warn)
    return warn(`is worn: ${wearPercent} % of its endurance is used (plan to replace it)`);
  return passing;
}

/** How much of the rated endurance of a disk is used, in percent. */
const limits = { warn: 90, fail: Number.POSITIVE_INFINITY };

/** @param all as they are found. */
export function judgeDisks(all: readonly (SmartDisk | UnreadDisk)[], settings: CheckSettings): Outcome {
  const isIgnored = createIgnore(settings.ignore);
  const found = all.filter(({ name }) => !isIgnored(name));
  const disks = found.filter((each) => "isHealthy" in each);
  const unread = found.filter((each) => "unread" in each);
  const notRead =
    unread.length === 0 ? "" : `not read: ${unread.map(({ name, unread: why }) => `${name} (${why})`).join(", ")}`;
  const unreadDetails =
    unread.length === 0 ? {} : { unread: unread.map(({ name, unread: reason }) => ({ name, reason })) };
  if (disks.length === 0)
    return skip(
      notRead === "" ? "No disk was found, or all are ignored" : `No disk answered, ${notRead}`,
      unreadDetails,
    );
  const findings = disks.map((disk) => findingOf(disk, thresholdsFor(limits, settings)));
  const whole = `${counted(disks.length, "disk")} without problems`;
  return combineFindings(findings, notRead === "" ? whole : `${whole}, ${notRead}`, {
    ...unreadDetails,
    disks: disks.map((disk) => ({
      name: disk.name,
      model: disk.model,
      kind: disk.kind,
      healthy: disk.isHealthy,
      critical_warning_bits: disk.criticalWarning,
      reallocated_sectors: disk.reallocatedSectors,
      pending_sectors: disk.pendingSectors,
      uncorrectable_errors: disk.uncorrectableErrors,
      wear_percent: disk.wearPercent,
      temperature_celsius: disk.celsius,
      power_on_hours: disk.powerOnHours,
      self_test_passed: disk.selfTest?.hasPassed ?? null,
      self_test_age_hours: disk.selfTest?.ageHours ?? null,
    })),
  });
}

export const smartCheck = (ports: {
  hostFiles: Pick<HostFiles, "names" | "target" | "stat">;
  exec: RunProgram;
}): BuiltInCheck => ({
  id: "smart",
  name: "Health of disks (SMART)",
  category: "storage",
  severity: "critical",
  thresholds: limits,
  about:
    "What disks say of themselves by SMART, ATA, SCSI and NVMe. Fails for a predicted failure and for critical " +
    "warnings of NVMe but heat; warns of sectors and data that cannot be read, of 10 replaced sectors, a failed " +
    "self-test, heat (60 °C, an SSD 70 °C, NVMe 80 °C), and wear: by default from 90 % of the rated endurance on, " +
    "which is what `warn` and `fail` mean. Disks in standby are not woken. `ignore` takes devices, such as " +
    "`/dev/sda`.",
  meaning: "A disk reports that it is failing, worn out or too hot.",
  remedy: "Make sure that there is a backup and replace the disk; for heat, check the air flow.",
  intervalMs: 60 * 60_000,
  absent: async () =>
    (await canAsk(ports.hostFiles)) ? undefined : skip("No disk here has SMART, or smartmontools is not installed"),
  run: async (settings, signal) => judgeDisks(await readDisks(ports.exec, signal), settings),
});
