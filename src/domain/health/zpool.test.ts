import { describe, expect, it } from "vitest";
import { parseZpoolStatus, parseZpoolText } from "./zpool.ts";

const pool = (scan: string, rows: readonly string[], errors = "No known data errors"): string =>
  [
    ...["  pool: tank", " state: ONLINE", `  scan: ${scan}`, "config:", "", "\tNAME        STATE     READ WRITE CKSUM"],
    ...[...rows.map((row) => `\t${row}`), "", `errors: ${errors}`, ""],
  ].join("\n");
const whole = ["tank        ONLINE       0     0     0", "  sda       ONLINE       0     0     0"];

describe("zpool status for people", () => {
  it("counts the errors of disks, once, and of what a pool cannot lose", () => {
    const [found] = parseZpoolText(
      pool("none requested", [
        "tank        ONLINE       0     0     7",
        "  mirror-0  ONLINE       0     0     7",
        "    sda     ONLINE       0     0     7  (repairing)",
        "    spare-1 DEGRADED     0     0     0",
        "      sdb   UNAVAIL      1     2     0  was /dev/sdb1",
        "      sdf   ONLINE       0     0     0",
        "special",
        "  sdc       ONLINE       3     0     0",
        "logs",
        "  sdd       REMOVED      0     0     0",
        "cache",
        "  sde       UNAVAIL      9     9     9  cannot open",
        "spares",
        "  sdf       INUSE     currently in use",
        "  sdg       AVAIL",
      ]),
    );
    expect(found).toMatchObject({
      errors: { read_errors: 4, write_errors: 2, checksum_errors: 7 },
      missingDevices: 2,
    });
  });

  it("has each pool, and errors of data", () => {
    const lost = pool("none requested", whole, "3 data errors, use '-v' for a list");
    const hidden = `errors: List of errors unavailable: permission denied\n\nerrors: 1 data errors, use '-v' for a list`;
    const pools = parseZpoolText(
      `${lost}\n${pool("none requested", whole)}\n${pool("none", whole).replace(/^errors.*$/m, hidden)}`,
    );
    expect(pools.map(({ errors }) => errors)).toEqual([{ data_errors: 3 }, {}, { data_errors: 1 }]);
    expect(parseZpoolText("no pools available\n")).toEqual([]);
  });

  it.each([
    ["scrub repaired 0B in 00:00:01 with 2 errors on Sun Mar 10 00:24:02 2024", { unrepaired: 2 }],
    ["scrub repaired 1.5M in 1 days 01:25:43 with 0 errors on Mon Aug 15 01:26:46 2022", { unrepaired: 0 }],
    ["scrub in progress since Sun Mar 10 00:24:02 2024", undefined],
    ["scrub canceled on Sun Mar 10 00:24:02 2024", null],
    ["resilvered 1G in 00:10:00 with 0 errors on Sun Mar 10 00:24:02 2024", null],
    ["none requested", null],
  ])("%s: the last completed scrub, unless another runs", (scan, expected) => {
    const [found] = parseZpoolText(pool(scan, whole));
    if (expected) expect(found?.scrub).toEqual({ endedAt: Date.parse(scan.split(" on ")[1] ?? ""), ...expected });
    else expect(found?.scrub).toBe(expected);
  });
});

describe("zpool status in JSON", () => {
  const status = (given: object): string =>
    JSON.stringify({ pools: { tank: { name: "tank", state: "ONLINE", ...given } } });

  it("counts what a pool cannot lose as well as its data, and neither caches nor spares", () => {
    const one = (state: string, errors: number) => ({
      sdx: { name: "sdx", state, read_errors: errors, write_errors: 0, checksum_errors: 0 },
    });
    const text = status({
      vdevs: { tank: { state: "ONLINE", vdevs: one("ONLINE", 1) } },
      special: one("ONLINE", 2),
      dedup: one("ONLINE", 4),
      logs: one("UNAVAIL", 8),
      l2cache: one("UNAVAIL", 16),
      spares: one("AVAIL", 32),
    });
    expect(parseZpoolStatus(text)).toMatchObject([{ errors: { read_errors: 15 }, missingDevices: 1 }]);
  });

  it("knows no last scrub while one runs, and none after one that was cancelled", () => {
    const scrub = (state: string) => parseZpoolStatus(status({ scan_stats: { function: "SCRUB", state } }))[0]?.scrub;
    expect([scrub("SCANNING"), scrub("CANCELED")]).toEqual([undefined, null]);
  });
});
