import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { judgeDisks, parseReport, parseScan, readDisks, type SmartDisk } from "#domain/health/checks/smart.ts";
import type { RunProgram } from "#domain/ports/host-files.ts";
import { describeCases } from "./cases.ts";

const { signal } = new AbortController();

type Facts = readonly [status: string, celsius: number, powerOnHours: number | null, others?: Partial<SmartDisk>];

/** What each report says, by its file. Figures that are not named are 0 or unknown. */
const reports: Readonly<Record<string, Facts>> = {
  "ata-108-crc-scrutiny-failed": ["pass", 33, 19_497],
  "ata-dell-intel-s3520-47c": ["pass", 47, 21_213],
  "ata-hgst-hus724020-error-log-crc": ["pass", 26, 83_425],
  "ata-hp-mb0500-187-one": ["pass", 26, 89_214],
  "ata-intel-s4500-4-reallocated": ["pass", 23, 49_466, { reallocatedSectors: 4, uncorrectableErrors: null }],
  "ata-kingston-a400-exit4": ["pass", 38, 4_994, { reallocatedSectors: null }],
  "ata-many-self-tests": ["pass", 32, 1_730, { selfTest: { hasPassed: true, ageHours: 22 } }],
  "ata-micron-5210-qlc": ["pass", 19, 3_815],
  "ata-netdata-hdd-49c": ["pass", 49, 8_244],
  "ata-netdata-ssd": ["pass", 27, 8_244],
  "ata-seagate-exos-x16": ["pass", 26, 13_114],
  "ata-seagate-st3200820as-error-log": ["pass", 33, 100_161],
  "ata-seagate-st3500418as-1-reallocated": ["pass", 32, 44_670, { reallocatedSectors: 1 }],
  "ata-toshiba-mg05-error-log": ["pass", 24, 37_603],
  "ata-toshiba-mg08-helium": ["pass", 23, 15_166],
  "ata-transcend-mts400": ["pass", 26, 796],
  "ata-type-ata-v70": ["pass", 32, 846],
  "ata-wd-hc550-error-log": ["pass", 26, 20_117],
  "ata-wd-re4-644-crc": ["pass", 24, 92_209],
  "ata-x-full-report": ["pass", 36, 14_551],
  "megaraid0-attribute-check": ["pass", 36, 37_787, { selfTest: { hasPassed: true, ageHours: 1_797 } }],
  "nvme-7-media-errors": ["warn", 35, 12_798, { kind: "nvme", uncorrectableErrors: 7, wearPercent: 3 }],
  "nvme-beszel-x": ["pass", 61, 4_399, { kind: "nvme", wearPercent: 0 }],
  "nvme-crucial-p2": ["pass", 26, 10_147, { kind: "nvme", wearPercent: 0 }],
  "nvme-intel-optane-32g": ["pass", 31, 41_159, { kind: "nvme", wearPercent: 1 }],
  "nvme-intel-p3500-11c": ["pass", 11, 22_944, { kind: "nvme", wearPercent: 0 }],
  "nvme-intel-p4500-75-percent": ["pass", 19, 49_441, { kind: "nvme", wearPercent: 75 }],
  "nvme-netdata": ["pass", 39, 3_113, { kind: "nvme", wearPercent: 0 }],
  "nvme-samsung-pm9a1": ["pass", 29, 10_423, { kind: "nvme", wearPercent: 16 }],
  "nvme-smartctl-70": ["pass", 38, 6_487, { kind: "nvme", wearPercent: 1 }],
  "nvme-toshiba-xg6": ["pass", 37, 12_173, { kind: "nvme", wearPercent: 1 }],
  "scsi-56-defects-old-format": ["warn", 34, 43_549, { reallocatedSectors: 56 }],
  "scsi-beszel-sas": ["pass", 34, 458],
  "scsi-hitachi-sun-sas": ["pass", 27, 982],
  "scsi-hp-mas3735-fujitsu": ["pass", 28, null],
  "scsi-netdata-sas": ["pass", 34, 1_641],
  "scsi-seagate-st373453lc-clean": ["pass", 34, 91_691],
  "scsi-smartctl-67": ["pass", 31, 5_675],
  "scsi-telegraf-72": ["pass", 24, 32_978],
  "usb-jmicron-hitachi-failing": [
    "fail",
    25,
    65_592,
    { isHealthy: false, reallocatedSectors: 1_975, pendingSectors: 8, selfTest: { hasPassed: true, ageHours: 65_550 } },
  ],
};

/** Reports that say nothing of health: with `smartctl --info`, of one log alone, of a device that could not be opened. */
const withoutVerdict = [
  "ata-seagate-farm-log-only",
  "info-hitachi-sat",
  "info-only-nvme",
  "scan-or-open-failed-windows",
  "usb-jmb39x-info-exit4",
];

const scans: Readonly<Record<string, readonly (readonly [name: string, type: string])[]>> = {
  "scan-beszel": [
    ["/dev/sda", "sat"],
    ["/dev/nvme0", "nvme"],
  ],
  "scan-megaraid": [
    ["/dev/bus/0", "megaraid,0"],
    ["/dev/bus/0", "megaraid,1"],
  ],
  "scan-mixed-telegraf": [
    ["/dev/sda", "sat"],
    ["/dev/nvme0", "nvme"],
    ["/dev/nvme1", "nvme"],
  ],
  "scan-nvme": [["/dev/nvme0", "nvme"]],
  "scan-sat-netdata": [
    ["/dev/sda", "sat"],
    ["/dev/sdc", "sat"],
  ],
  "scan-simple": ["a", "b", "c", "d", "e", "f", "g"].map((letter) => [`/dev/sd${letter}`, "scsi"] as const),
};

describeCases("smart", ({ path, text }) => {
  const check = (disks: Parameters<typeof judgeDisks>[0]) => judgeDisks(disks, { ignore: [] });

  it("every file is one of those below", () => {
    const known = [...Object.keys(reports), ...withoutVerdict, ...Object.keys(scans)];
    const files = readdirSync(path("")).filter((name) => name.endsWith(".json"));
    expect(files.toSorted()).toEqual(known.map((name) => `${name}.json`).toSorted());
  });

  it.each(Object.entries(reports))("%s: figures and verdict", (file, [status, celsius, powerOnHours, others]) => {
    const disk = parseReport(text(`${file}.json`));
    if (disk === undefined) throw new Error("no verdict");
    expect(disk).toMatchObject({
      isHealthy: true,
      criticalWarning: 0,
      celsius,
      powerOnHours,
      selfTest: null,
      ...others,
    });
    for (const name of ["reallocatedSectors", "pendingSectors", "uncorrectableErrors"] as const)
      if (others?.[name] === undefined) expect([name, disk[name] ?? 0]).toEqual([name, 0]);
    expect(check([disk]).status).toBe(status);
  });

  it.each(withoutVerdict)("%s: no verdict, and no fault of the disk", (file) => {
    expect(parseReport(text(`${file}.json`))).toBeUndefined();
  });

  it.each(Object.entries(scans))(
    "%s: each disk is asked as what it is, under a name of its own",
    async (file, devices) => {
      expect(parseScan(text(`${file}.json`)).map(({ name, type }) => [name, type])).toEqual(devices);
      const asked: string[][] = [];
      const exec: RunProgram = (argv) => {
        const isScan = argv.includes("--scan");
        if (!isScan) asked.push(argv.slice(4));
        const stdout = text(isScan ? `${file}.json` : "ata-netdata-ssd.json");
        return Promise.resolve({ exitCode: 0, stdout, stderr: "" });
      };
      const disks = await readDisks(exec, signal);
      // What the scan calls "scsi" may be a SATA disk, which smartctl recognises by itself.
      expect(asked).toEqual(devices.map(([name, type]) => (type === "scsi" ? [name] : [`--device=${type}`, name])));
      if (file === "scan-megaraid")
        expect(disks.map(({ name }) => name)).toEqual(["/dev/bus/0 (megaraid,0)", "/dev/bus/0 (megaraid,1)"]);
    },
  );

  it("a disk that was found and could not be opened is named, and hides no other", async () => {
    const exec: RunProgram = (argv) => {
      const isFailing = argv.at(-1) === "/dev/sda";
      const stdout = text(
        argv.includes("--scan")
          ? "scan-sat-netdata.json"
          : isFailing
            ? "scan-or-open-failed-windows.json"
            : "ata-netdata-ssd.json",
      );
      return Promise.resolve({ exitCode: isFailing ? 2 : 0, stdout, stderr: "" });
    };
    const outcome = check(await readDisks(exec, signal));
    expect(outcome.status).toBe("pass");
    expect(outcome.message).toMatch(/^1 disk without problems, not read: \/dev\/sda \(.+\)$/);
    expect(outcome.details).toMatchObject({ unread: [{ name: "/dev/sda", reason: expect.any(String) }] });
  });
});
