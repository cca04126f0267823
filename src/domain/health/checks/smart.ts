import type { SmartDisk, SmartDisks } from "#domain/ports/storage.ts";
import { counted } from "#kernel/text.ts";
import { type Check, createIgnore, skip } from "../check.ts";
import { combineFindings, type Finding, passing } from "../grading.ts";

/** A disk replaces a few sectors in its life, and goes on for years. */
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
function judge(disk: SmartDisk, limits: { readonly warn: number; readonly fail: number }): Finding {
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

const absent = skip("No disk here has SMART, or smartmontools is not installed");

/**
 * What disks say of themselves by SMART, ATA, SCSI and NVMe. Fails for a predicted failure and for critical warnings of NVMe but heat;
 * warns of sectors and data that cannot be read, of 10 replaced sectors, a failed self-test, heat (60 °C, an SSD 70 °C, NVMe 80 °C),
 * and wear: by default from 90 % of the rated endurance on, which is what `warn` and `fail` mean. Disks in standby are not woken.
 * `ignore` takes devices, such as `/dev/sda`.
 */
export const smartCheck = (ports: { smartDisks: SmartDisks }): Check => ({
  id: "smart",
  name: "Health of disks (SMART)",
  category: "storage",
  severity: "critical",
  intervalMs: 60 * 60_000,
  absent: async () => ((await ports.smartDisks.canList()) ? undefined : absent),
  async run({ warn = 90, fail = Number.POSITIVE_INFINITY, ignore }, signal) {
    if (!(await ports.smartDisks.canList())) return absent;
    const all = await ports.smartDisks.list(signal);
    const isIgnored = createIgnore(ignore);
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
    const findings = disks.map((disk) => judge(disk, { warn, fail }));
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
  },
});
