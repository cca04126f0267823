import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createSmartDisks } from "#adapters/smartctl/index.ts";
import type { SmartDisks } from "#domain/ports/smart-disks.ts";
import { createFakeSmartDisks, fakeSmartDisk } from "../fakes/smart-disks.ts";
import { smartReports, smartScan } from "../host/support/recorded.ts";

const { signal } = new AbortController();
const dir = mkdtempSync(join(tmpdir(), "steward-smart-"));
const program = join(dir, "smartctl");
writeFileSync(program, "");
mkdirSync(join(dir, "disks/block/sda"), { recursive: true });
mkdirSync(join(dir, "virtual/block/vda"), { recursive: true });
afterAll(() => rmSync(dir, { recursive: true }));

const reports: Readonly<Record<string, { readonly smartctl: { readonly exit_status: number } }>> = smartReports;
const smartctl: Exec = (argv) => {
  const report = reports[argv.at(-1) ?? ""];
  const stdout = report === undefined ? smartScan : JSON.stringify(report);
  return Promise.resolve({ exitCode: report?.smartctl.exit_status ?? 0, stdout, stderr: "", truncated: false });
};

const disks = [
  fakeSmartDisk({
    model: "ST16000NM001G-2KK103",
    reallocatedSectors: 16,
    pendingSectors: 8,
    uncorrectableErrors: 8,
    celsius: 41,
    powerOnHours: 30_000,
    selfTest: { hasPassed: false, ageHours: 100 },
  }),
  fakeSmartDisk({
    name: "/dev/sdb",
    model: "Samsung SSD 870 EVO 1TB",
    kind: "ssd",
    reallocatedSectors: 1,
    pendingSectors: null,
    uncorrectableErrors: null,
    wearPercent: 93,
    celsius: 33,
    powerOnHours: 20_000,
  }),
  fakeSmartDisk({
    name: "/dev/nvme0",
    model: "WDC PC SN730 SDBQNTY-512G",
    kind: "nvme",
    isHealthy: false,
    criticalWarning: 4,
    reallocatedSectors: null,
    pendingSectors: null,
    uncorrectableErrors: 3,
    wearPercent: 12,
    celsius: 45,
    powerOnHours: 9000,
    selfTest: { hasPassed: true, ageHours: 1000 },
  }),
  fakeSmartDisk({
    name: "/dev/sdc",
    model: "HGST HUS726040AL5210",
    pendingSectors: null,
    celsius: 36,
    powerOnHours: 50_000,
  }),
];

const withoutSmart = { name: "/dev/sdd", unread: "without SMART" };

describe.each([
  ["fake", createFakeSmartDisks([...disks, withoutSmart]), createFakeSmartDisks()],
  [
    "smartctl",
    createSmartDisks({ exec: smartctl, program, sysDir: join(dir, "disks") }),
    createSmartDisks({ exec: smartctl, program, sysDir: join(dir, "virtual") }),
  ],
] as const)("disks with SMART: %s", (_, present: SmartDisks, absent: SmartDisks) => {
  it("are those that answer, and the one that has none", async () => {
    expect(await present.canList()).toBe(true);
    expect(await present.list(signal)).toEqual([...disks, withoutSmart]);
  });

  it("cannot be asked where there is none", async () => {
    expect(await absent.canList()).toBe(false);
  });
});

describe("disks with SMART: smartctl", () => {
  it("cannot be asked without the program", async () => {
    const smartDisks = createSmartDisks({ exec: smartctl, program: join(dir, "missing"), sysDir: join(dir, "disks") });
    expect(await smartDisks.canList()).toBe(false);
  });

  it("throws what it says where it fails, and names a disk that sleeps", async () => {
    const refusing: Exec = () => Promise.resolve({ exitCode: 2, stdout: "", stderr: "no rights\n", truncated: false });
    await expect(createSmartDisks({ exec: refusing, program }).list(signal)).rejects.toThrow(
      "cannot ask smartctl: no rights",
    );
    const asleep: Exec = (argv) =>
      argv.includes("--scan")
        ? smartctl(argv)
        : Promise.resolve({ exitCode: 0, stdout: '{"power_mode": {"ata_value": 0}}', stderr: "", truncated: false });
    expect(await createSmartDisks({ exec: asleep, program }).list(signal)).toEqual(
      [...disks, withoutSmart].map(({ name }) => ({ name, unread: "in standby" })),
    );
  });
});
