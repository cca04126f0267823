import type { RaidArray, RaidArrays } from "#domain/ports/storage.ts";
import { type BuiltInCheck, skip } from "../check.ts";

type Verdict = { readonly status: "pass" | "warn" | "fail"; readonly message: string };

function judgeArray({ name, isActive, devices, workingDevices, rebuildPercent }: RaidArray): Verdict {
  if (!isActive) return { status: "fail", message: `${name} is not running` };
  const lost = devices - workingDevices;
  const has = `${name} has ${workingDevices} of ${devices} devices`;
  if (rebuildPercent !== null)
    return { status: "warn", message: `${has} and is being rebuilt: ${rebuildPercent} % done` };
  if (lost > 0) return { status: "fail", message: `${has}: replace the failed devices` };
  return { status: "pass", message: `${name} is healthy` };
}

export const raidStatusCheck = (ports: { raidArrays: RaidArrays }): BuiltInCheck => ({
  id: "raid_status",
  name: "RAID status",
  category: "storage",
  severity: "critical",
  about: "Software RAID: fails for an array that lost a device or does not run; warns while one is rebuilt.",
  meaning: "A software RAID has lost a device or is rebuilding: the next failure may lose data.",
  remedy: "Find the device (cat /proc/mdstat, mdadm --detail), replace it, and make sure that there is a backup.",
  async run(settings) {
    const all = await ports.raidArrays.list();
    const arrays = (all ?? []).filter(({ name }) => !settings.ignore.includes(name));
    if (arrays.length === 0)
      return skip((all ?? []).length > 0 ? "The settings ignore every RAID array" : "This host has no software RAID");

    const verdicts = arrays.map(judgeArray);
    const of = (status: Verdict["status"]) => verdicts.filter((verdict) => verdict.status === status);
    const [failed, warned] = [of("fail"), of("warn")];
    const troubled = [...failed, ...warned];
    const whole = arrays.length === 1 ? "The RAID array is healthy" : `All ${arrays.length} RAID arrays are healthy`;
    return {
      status: failed.length > 0 ? "fail" : warned.length > 0 ? "warn" : "pass",
      message: troubled.length === 0 ? whole : troubled.map(({ message }) => message).join("; "),
      details: {
        arrays: arrays.map((array) => ({
          name: array.name,
          level: array.level,
          active: array.isActive,
          devices: array.devices,
          working_devices: array.workingDevices,
          rebuild_percent: array.rebuildPercent,
        })),
      },
    };
  },
});
