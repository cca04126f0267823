import type { SmartDisk } from "#domain/ports/storage.ts";
import { isNumber, isRecord, isString, type JsonObject, parseJsonObject, recordsIn } from "#kernel/values.ts";

/** A member at the end of a path; undefined where the path does not lead anywhere. */
function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((found, name) => (isRecord(found) ? found[name] : undefined), value);
}

const number = (value: unknown): number | null => (isNumber(value) ? value : null);
const string = (value: unknown): string => (isString(value) ? value : "");

export interface ScannedDevice {
  readonly name: string;
  readonly type: string;
}

/** `smartctl --json --scan`. */
export const parseScan = (text: string): readonly ScannedDevice[] =>
  recordsIn(parseJsonObject(text)?.["devices"]).map(({ name, type }) => ({ name: string(name), type: string(type) }));

/** Why a report has no verdict, for people. */
export function whyUnread(text: string, exitCode: number): string {
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
