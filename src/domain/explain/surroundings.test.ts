import { describe, expect, it } from "vitest";
import type { HealthCheckResult } from "#contract/checks.ts";
import type { Context } from "#contract/operation.ts";
import type { Reads } from "./reads.ts";
import { surroundings } from "./surroundings.ts";

const finding = (id: string, details: object = {}) =>
  ({
    check_id: id,
    message: "",
    details,
    since: "2026-01-01T09:00:00.000Z",
    checked_at: "2026-01-01T12:00:00.000Z",
  }) as unknown as HealthCheckResult;

const java = { pid: 7, name: "java", unit: "shop.service", user: "shop", cpu_percent: 97, memory_bytes: 2 ** 30 };
const unit = (name: string, active: string, since: string | null, rest: object = {}) => ({
  name,
  type: name.split(".").at(-1),
  description: `The ${name}`,
  active_state: active,
  sub_state: active === "failed" ? "failed" : active === "active" ? "running" : "dead",
  result: active === "failed" ? "exit-code" : "success",
  since: since && `2026-01-01T${since}:00.000Z`,
  ...rest,
});
const mount = { what: "nas:/orders", where: "/srv/orders", type: "nfs" };
const largest = [
  { path: "/srv/backup", type: "folder", bytes: 3 * 2 ** 30, entries: 12 },
  { path: "/srv/core.1", type: "file", bytes: 2 ** 20, entries: 0 },
];
const upgraded = { action: "upgrade", name: "shopd", from: "1.0", to: "1.1" };
const installed = { action: "install", name: "ledger", from: null, to: "2.0" };

/** What others answer. */
const answers = {
  listProcesses: { processes: [{ ...java, state: "sleeping" }] },
  getDiskUsage: {
    largest,
    written_lately: [{ path: "/srv/log", bytes: 2 ** 20, modified_at: "T" }],
    truncated: "time",
  },
  listUnits: {
    units: [
      unit("cart.service", "failed", "08:58"),
      unit("front.service", "inactive", "09:00"),
      unit("late.service", "active", "11:30"),
      unit("long.service", "active", "10:00"),
      unit("never.service", "inactive", null),
      unit("some.slice", "active", "09:00"),
      unit("srv-orders.mount", "failed", "11:59", { mount }),
    ],
  },
  getNetwork: {
    listeners: [
      { protocol: "udp", address: "0.0.0.0", port: 68, unit: null },
      { protocol: "tcp", address: "127.0.0.1", port: 9100, unit: "squatter.service" },
    ],
    notes: [],
  },
  getLogFacets: { facets: { unit: [{ value: "poller.service", count: 90 }] }, total: 100 },
  listPackageHistory: {
    transactions: [
      { started_at: "T2", packages: [upgraded], command: "apt-get upgrade", error: null },
      { started_at: "T1", packages: [installed], command: null, error: "dpkg returned an error code (1)" },
    ],
  },
};

/** Answers as others give them, and notes what they were asked. */
async function read(result: HealthCheckResult, title: RegExp, given: object = {}) {
  const asked: unknown[] = [];
  const reads = Object.fromEntries(
    Object.entries<unknown>({ ...answers, ...given }).map(([name, answer]) => [
      name,
      ({ query }: { query: object }) => {
        asked.push(query);
        return typeof answer === "function" ? (answer as (query: object) => unknown)(query) : answer;
      },
    ]),
  ) as unknown as Reads;
  const found = surroundings.find((each) => each.concerns(result) && title.test(each.title));
  return { asked, ...(await found?.read(reads, result, {} as Context)) };
}

const titlesOf = (result: HealthCheckResult): readonly string[] =>
  surroundings.filter(({ concerns }) => concerns(result)).map(({ title }) => title);

describe("what stands around a finding", () => {
  const line = "java[7] of shop.service as shop: sleeping, 97 % processor, 1.0 GiB";

  it("of load are the processes by processor time, of memory those by memory", async () => {
    expect(await read(finding("cpu_load"), /processors/)).toEqual({
      asked: [{ sort: "cpu", limit: 8 }],
      lines: [line],
    });
    expect(await read(finding("oom_kills"), /memory/)).toEqual({
      asked: [{ sort: "memory", limit: 8 }],
      lines: [line],
    });
  });

  it("are its figures at earlier times, as far as there are any", async () => {
    const getCheckMetrics = ({ since, until }: { since: string; until: string }) => {
      const point = { at: since, value: until.startsWith("2026") ? 81.256 : 60 };
      const percent = { name: "percent_used", unit: "", points: [{ at: since, value: 1 }, point] };
      const hasFree = until >= "2026-01-01T11:00";
      return { series: [percent, { name: "free", unit: "GB", points: hasFree ? [{ at: since, value: 2 }] : [] }] };
    };
    const { asked, lines } = await read(finding("disk_space"), /Figures/, { getCheckMetrics });
    expect(asked[0]).toEqual({
      check: "disk_space",
      since: "2026-01-01T11:45:00.000Z",
      until: "2026-01-01T11:50:00.000Z",
    });
    expect(lines).toEqual([
      "percent_used: 81.26 10 min ago, 81.26 1 h ago, 81.26 6 h ago, 60 1 d ago, 60 7 d ago",
      "free: 2GB 10 min ago, 2GB 1 h ago",
    ]);
  });

  it("of named processes are those that still have the number, with their units", async () => {
    const named = finding("file_descriptors", {
      processes: [{ pid: 7, name: "java" }],
      parents: [{ pid: 8, name: "x" }],
    });
    expect(await read(named, /the check names/)).toEqual({
      asked: [
        { pid: 7, limit: 1 },
        { pid: 8, limit: 1 },
      ],
      lines: [line],
      units: ["shop.service"],
    });
  });

  it("of a full disk are processes that have deleted files open, and that those of some are not known", async () => {
    const [holds, none, unknown] = [
      { count: 3, bytes: 2 ** 30, largest: "/srv/spool" },
      { count: 0, bytes: 0, largest: null },
      null,
    ];
    const processes = [holds, none, unknown].map((files) => ({
      ...java,
      is_kernel_thread: false,
      deleted_files: files,
    }));
    expect(await read(finding("disk_space", { path: "/srv" }), /Deleted/, { listProcesses: { processes } })).toEqual({
      asked: [{ sort: "deleted", limit: 8 }],
      lines: ["java[7] of shop.service: 1.0 GiB, /srv/spool and 2 more", "those of some processes are not known"],
    });
  });

  it("of a full disk are the directories and files that take most of the fullest file system, and what was written recently", async () => {
    expect(await read(finding("disk_space", { path: "/srv" }), /space/)).toEqual({
      asked: [{ path: "/srv", depth: 4, limit: 12, sort: "bytes" }],
      lines: [
        "written in the last hour: /srv/log: 1.0 MiB at T",
        "/srv/backup/: 3.0 GiB in 12 entries",
        "/srv/core.1: 1.0 MiB",
        "not all of it was read (time)",
      ],
    });
    expect(titlesOf(finding("disk_space")).join()).not.toContain("space");
  });

  it("of exhausted inodes are the directories with most entries", async () => {
    expect(await read(finding("inode_usage", { path: "/srv" }), /entries/)).toEqual({
      asked: [{ path: "/srv", depth: 4, limit: 12, sort: "entries" }],
      lines: ["/srv/backup/: 12 entries", "not all of it was read (time)"],
    });
  });

  it("of a large journal are the units that wrote most of it", async () => {
    expect(await read(finding("journal_size"), /journal/)).toEqual({
      asked: [{ fields: "unit", limit: 8, since: "1970-01-01T00:00:00.000Z" }],
      lines: ["all: 100 entries", "poller.service: 90 entries"],
    });
    const counted = { facets: {}, total: 0, unread: [{ file: "/var/log/journal/a.journal", reason: "it is damaged" }] };
    expect((await read(finding("journal_size"), /journal/, { getLogFacets: () => counted })).lines).toEqual([
      "all: 0 entries",
      "not read: /var/log/journal/a.journal (it is damaged)",
    ]);
  });

  it("of services that fail are the ports that others have, or why they are not known", async () => {
    const { lines } = await read(finding("systemd_failed"), /Ports/);
    expect(lines).toEqual(["tcp 127.0.0.1:9100 squatter.service", "udp 0.0.0.0:68 no unit"]);
    const unknown = { getNetwork: { listeners: null, notes: ["ss is not installed"] } };
    expect((await read(finding("endpoints"), /Ports/, unknown)).lines).toEqual(["ss is not installed"]);
  });

  it("are units that changed with the check or in the last hour, failed ones first, which are inspected if it names none", async () => {
    const all = [
      "srv-orders.mount: failed (failed) since 2026-01-01T11:59:00.000Z, result exit-code, nas:/orders on /srv/orders (nfs)",
      "cart.service: failed (failed) since 2026-01-01T08:58:00.000Z, result exit-code, The cart.service",
      "front.service: inactive (dead) since 2026-01-01T09:00:00.000Z, The front.service",
      "late.service: active (running) since 2026-01-01T11:30:00.000Z, The late.service",
    ];
    expect(await read(finding("endpoints"), /Units whose/)).toMatchObject({
      lines: all,
      units: ["srv-orders.mount", "cart.service"],
    });
    // The state of services that it names is reported elsewhere.
    const named = finding("systemd_failed", { units: ["cart.service", "srv-orders.mount"] });
    expect(await read(named, /Units whose/)).toMatchObject({
      lines: all.filter((each) => !each.startsWith("cart")),
      units: [],
    });
  });

  it("are packages with their versions, and errors of the package manager", async () => {
    expect((await read(finding("memory"), /Packages/)).lines).toEqual([
      "T2 upgrade shopd 1.0 -> 1.1 (apt-get upgrade)",
      "T1 install ledger 2.0, error: dpkg returned an error code (1)",
    ]);
  });

  it("of units that somebody asks about are ports, and no figures of a check", () => {
    const titles = titlesOf(finding(""));
    expect(titles).toContain("Ports at which programs listen");
    expect(titles.join()).not.toContain("Figures");
  });

  it("of any other finding is the host, units, other findings and changes", () => {
    expect(titlesOf(finding("dns_resolution"))).toEqual([
      ...[
        "Host",
        "Figures of the check at earlier times",
        "Units whose state changed recently",
        "Other checks that fail or warn",
      ],
      ...["Packages changed recently", "Changes through this service recently"],
    ]);
  });
});
