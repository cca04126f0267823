import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { runCommand } from "./commands.ts";
import { type RunOptions, runCheck } from "./support/check.ts";
import { eventually } from "./support/eventually.ts";
import { recordKernelLines } from "./support/journal.ts";
import { copyPrograms, whyNoCopy } from "./support/machine-packages.ts";
import { type Provocation, provocations } from "./support/provocations.ts";
import { provoke } from "./support/provoke.ts";
import { smartReports, smartScan, thinPoolReport, zpoolStatus } from "./support/recorded.ts";
import { describeOnHost } from "./support/session.ts";
import { createSmallDisk } from "./support/small-disk.ts";

const whyNoChrony = whyNoCopy(["chrony"]);
if (whyNoChrony !== undefined) process.stdout.write(`skipped: a real chrony: ${whyNoChrony}\n`);

async function freeUdpPort(): Promise<number> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  return port;
}

const files: readonly string[] = ["checks-devices.long.test.ts", "checks-units.long.test.ts"];
const rows = Object.entries<readonly Provocation[]>(provocations);
const provokedHere = rows.filter(([, ways]) => ways.some(({ file }) => files.includes(file))).map(([id]) => id);

describeOnHost("checks of devices and of what the kernel reports", (session) => {
  /** Has the kernel find an error in an ext4 of its own. @returns the name of its device. */
  const breakExt4 = async (path: string, work: (device: string) => Promise<void>): Promise<void> => {
    const disk = await createSmallDisk(session, 16);
    await disk.mount(path);
    try {
      const device = (await session.shell(`findmnt -no SOURCE ${path}`)).trim().replace("/dev/", "");
      // From outside: the guest may not write there.
      writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, "1");
      await work(device);
    } finally {
      await disk.unmount();
      disk.dispose();
    }
  };

  it("says nothing of a quiet host", async () => {
    const { results } = await session.api.listChecks();
    // The machine is shared, and has other work: what of it waits is no matter of the host.
    const found = results.filter(({ check_id: id }) => provokedHere.includes(id) && id !== "pressure");
    expect(found.map(({ check_id: id, status }) => [id, status])).toEqual(
      found.map(({ check_id: id }) => [id, expect.stringMatching(/^(pass|skip)$/)]),
    );
    expect(found.length).toBeGreaterThan(8);
  });

  provoke(
    "kernel_errors",
    "an ext4 in which the kernel finds an error, its own lines put into the journal; 25 hours later",
    async (see) => {
      const check = () => session.api.getCheck({ params: { check_id: "kernel_errors" } });
      expect(see(await check())).toMatchObject({ status: "pass", details: { errors: [] } });
      await breakExt4("/mnt/broken", async (device) => {
        const said = (await runCommand(["dmesg", "--notime", "--color=never"])).stdout.split("\n");
        const lines = said.filter((line) => line.startsWith(`EXT4-fs error (device ${device})`)).slice(-1);
        expect(lines).toHaveLength(1);
        await recordKernelLines(session, "kernel-errors", lines);
        await eventually(async () =>
          expect(see(await check())).toMatchObject({
            status: "fail",
            message: `ext4 on ${device} has errors (unmount it and run e2fsck)`,
            details: { errors: [{ rule: "ext4_error", object: device, count: 1, last_message: lines[0] }] },
          }),
        );
        expect(await runCheck(session, "kernel_errors", { ignore: [device] })).toMatchObject({ status: "pass" });
      });
      const dayLater = { aheadMs: 25 * 3_600_000 };
      expect(see(await runCheck(session, "kernel_errors", dayLater))).toMatchObject({ status: "pass" });
    },
  );

  provoke("kernel_errors", "a kernel that has crashed in part since boot", async (see) => {
    await session.host.writeFile("/root/tainted/sys/kernel/tainted", "4225\n");
    expect(see(await runCheck(session, "kernel_errors", { procDir: "/root/tainted" }))).toMatchObject({
      status: "fail",
      details: { taint: ["died"] },
    });
  });

  provoke("pressure", "memory that all work waits for, less and less, and a kernel that does not say", async (see) => {
    const look = () => runCheck(session, "pressure", { procDir: "/root/pressure" });
    expect(see(await look())).toMatchObject({ status: "skip" });
    for (const [percent, status] of [
      ["41.20", "fail"],
      ["12.00", "warn"],
      ["0.50", "pass"],
    ] as const) {
      const averages = `avg10=0.00 avg60=${percent} avg300=${percent} total=4120000`;
      await session.host.writeFile("/root/pressure/pressure/memory", `some ${averages}\nfull ${averages}\n`);
      expect(see(await look())).toMatchObject({ status });
    }
  });

  /** Installs a program that prints what was recorded. */
  const installPrinting = (path: string, text: string) =>
    session.host.writeFile(path, `#!/bin/sh\ncat <<'END'\n${text}\nEND\n`, 0o755);

  provoke(
    "lvm_thin",
    "a pool that fills up, is full, is healthy again, and none, as LVM tells of them",
    async (see) => {
      const look = () => runCheck(session, "lvm_thin", { sysDir: "/root/with-lvm" });
      expect(see(await runCheck(session, "lvm_thin"))).toMatchObject({ status: "skip" });
      await session.host.writeFile("/root/with-lvm/block/dm-0/dm/uuid", "LVM-kbDXqmHXtKVm4cEb-tpool\n");
      expect(await look()).toMatchObject({ status: "skip", message: "The programs of LVM are not installed" });
      for (const [pool, found] of [
        [
          { data: "81.20", metadata: "12.00" },
          { status: "warn", message: expect.stringContaining("81.2 % full") },
        ],
        [{ data: "100.00", metadata: "12.00", health: "out_of_data" }, { status: "fail" }],
        [{ data: "31.20", metadata: "12.00" }, { status: "pass" }],
      ] as const) {
        await installPrinting("/usr/sbin/lvs", thinPoolReport(pool));
        expect(see(await look())).toMatchObject(found);
      }
    },
  );

  /** What the check says of one file system: the machine is shared, and others may have trouble of their own. */
  const recordOf = async (path: string, options: RunOptions = {}) => {
    const { status, details } = await runCheck(session, "filesystem_health", options);
    const all = details["file_systems"] as { readonly path: string }[];
    return { status, ...all.find((each) => each.path === path) };
  };

  provoke("filesystem_health", "an ext4 in which the kernel finds an error", async (see) => {
    expect(see(await runCheck(session, "filesystem_health"))).toMatchObject({ status: "pass" });
    await breakExt4("/mnt/broken", async () => {
      expect(see(await recordOf("/mnt/broken"))).toMatchObject({
        status: "fail",
        type: "ext4",
        errors: { errors: 1 },
        last_error_at: expect.stringMatching(/^20/),
      });
      expect(await runCheck(session, "filesystem_health", { ignore: ["/mnt/broken"] })).toMatchObject({
        status: "pass",
      });
    });
  });

  provoke(
    "filesystem_health",
    "a btrfs whose data is changed behind its back, until its counters are reset",
    async (see) => {
      const disk = await createSmallDisk(session, 128, ["mkfs.btrfs", "-q", "-m", "single", "-d", "single"]);
      await disk.mount("/mnt/rotten");
      try {
        await session.shell("yes 'what was written' | head -c 1M > /mnt/rotten/file");
        await disk.unmount();
        const content = readFileSync(disk.image);
        // In the middle of the file, which begins at a page.
        content.write("something else!!", content.indexOf("what was written\n".repeat(1000)) + 300_000, "latin1");
        writeFileSync(disk.image, content);
        await disk.mount("/mnt/rotten");
        expect(await recordOf("/mnt/rotten")).toMatchObject({ type: "btrfs", errors: {} });
        expect(await session.shell("cat /mnt/rotten/file 2>&1 > /dev/null || true")).toMatch(/Input\/output error/);
        const record = see(await recordOf("/mnt/rotten"));
        expect(record).toMatchObject({ status: "warn", errors: { corruption_errs: expect.any(Number) } });
        await session.shell("btrfs device stats -z /mnt/rotten");
        expect(see(await recordOf("/mnt/rotten"))).toMatchObject({ status: "pass", errors: {}, scrub_ended_at: null });
        // Read-only, since a scrub that may write would count anew what it cannot repair.
        await session.shell("btrfs scrub start -Br /mnt/rotten || true");
        expect(await recordOf("/mnt/rotten")).toMatchObject({ status: "fail", scrub_unrepaired: expect.any(Number) });
      } finally {
        await disk.unmount();
        disk.dispose();
      }
    },
  );

  provoke("filesystem_health", "a pool of ZFS that has lost a disk, as ZFS tells of it", async (see) => {
    await installPrinting("/usr/sbin/zpool", zpoolStatus);
    await session.shell(
      "mkdir -p /root/with-zfs/spl/kstat/zfs/tank && cp -r /proc/self/mountinfo /root/with-zfs/ && echo DEGRADED > /root/with-zfs/spl/kstat/zfs/tank/state",
    );
    expect(see(await recordOf("tank", { procDir: "/root/with-zfs" }))).toMatchObject({
      status: "fail",
      state: "DEGRADED",
      errors: { read_errors: 4, checksum_errors: 2 },
      missing_devices: 1,
    });
  });

  provoke(
    "smart",
    "disks of several makers, failing, worn and healthy, and none, as smartctl tells of them",
    async (see) => {
      const look = (ignore: readonly string[] = []) =>
        runCheck(session, "smart", { sysDir: "/root/with-disks", ignore });
      await session.shell("mkdir -p /root/with-disks/block/sda");
      expect(see(await look())).toMatchObject({ status: "skip" });
      for (const [device, report] of Object.entries(smartReports))
        await session.host.writeFile(`/root/reports${device}`, JSON.stringify(report));
      await session.host.writeFile("/root/reports/scan", smartScan);
      const script = [
        "#!/bin/sh",
        "for last; do :; done",
        'if [ "$last" = --scan ]; then exec cat /root/reports/scan; fi',
        'exec cat "/root/reports$last"',
      ];
      await session.host.writeFile("/usr/sbin/smartctl", `${script.join("\n")}\n`, 0o755);
      const all = await look();
      expect(see(all)).toMatchObject({
        status: "fail",
        message: expect.stringContaining("/dev/nvme0 (WDC PC SN730 SDBQNTY-512G) is no longer reliable (replace it)"),
      });
      expect(all.message).toContain("/dev/sda (ST16000NM001G-2KK103) has 8 sectors that it cannot read");
      expect(see(await look(["/dev/nvme0"]))).toMatchObject({ status: "warn" });
      expect(see(await look(["/dev/nvme0", "/dev/sda", "/dev/sdb"]))).toMatchObject({
        status: "pass",
        details: { disks: [{ name: "/dev/sdc", temperature_celsius: 36 }] },
      });
    },
  );

  provoke(
    "temperature",
    "a processor that gets hot, too hot and cool again, and none, as the kernel's drivers tell of it",
    async (see) => {
      const look = () => runCheck(session, "temperature", { sysDir: "/root/with-sensors" });
      expect(see(await look())).toMatchObject({ status: "skip" });
      const chip = "/root/with-sensors/class/hwmon/hwmon0";
      for (const [file, text] of [
        ["name", "coretemp"],
        ["temp1_label", "Package id 0"],
        ["temp1_crit", "100000"],
      ] as const)
        await session.host.writeFile(`${chip}/${file}`, `${text}\n`);
      for (const [celsius, status] of [
        [96, "warn"],
        [101, "fail"],
        [50, "pass"],
      ] as const) {
        await session.host.writeFile(`${chip}/temp1_input`, `${celsius}000\n`);
        expect(see(await look())).toMatchObject({ status });
      }
    },
  );

  provoke("clock_offset", "a clock that chrony is far from, near to, and none, as chronyc tells of it", async (see) => {
    const look = () => runCheck(session, "clock_offset");
    expect(see(await look())).toMatchObject({ status: "skip" });
    await session.shell("mkdir /run/chrony");
    for (const [seconds, status] of [
      ["1.500000000", "fail"],
      ["-0.150000000", "warn"],
      ["0.000012345", "pass"],
    ] as const) {
      const tracking = [
        "C0000201",
        "192.0.2.1",
        "3",
        "1767258000.123",
        seconds,
        "0",
        "0",
        "0",
        "0",
        "0",
        "0",
        "0",
        "64.2",
      ];
      await installPrinting("/usr/bin/chronyc", [...tracking, "Normal"].join(","));
      expect(see(await look())).toMatchObject({ status, details: { program: "chrony", server: "192.0.2.1" } });
    }
    await session.shell("rmdir /run/chrony; rm /usr/bin/chronyc");
  });

  if (whyNoChrony === undefined) {
    provoke(
      "clock_offset",
      "a chrony whose server is hours, a second and a moment away, and one that has none; a clock set back by hours",
      async (see) => {
        await copyPrograms(session.host, ["chrony"]);
        /** Runs a chronyd that never sets the clock, which is that of the machine. */
        const start = async (unit: string, folder: string, directives: readonly string[]): Promise<void> => {
          const own = ["cmdport 0", `bindcmdaddress ${folder}/chronyd.sock`, `pidfile ${folder}/pid`];
          await session.host.writeFile(`/etc/${unit}.conf`, `${[...directives, ...own].join("\n")}\n`);
          await session.host.exec(["install", "--directory", "--mode=700", folder]);
          const daemon = ["/usr/sbin/chronyd", "-x", "-d", "-u", "root", "-f", `/etc/${unit}.conf`];
          await session.host.exec(["systemd-run", "--quiet", `--unit=${unit}`, ...daemon]);
        };
        const stop = (...units: readonly string[]) => session.host.exec(["systemctl", "stop", ...units]);
        const look = (options?: RunOptions) => runCheck(session, "clock_offset", options);

        const port = await freeUdpPort();
        const server = [`port ${port}`, "local stratum 5", "allow 127.0.0.1", "bindaddress 127.0.0.1"];
        await start("chrony-server", "/run/chrony-server", server);
        for (const [seconds, status] of [
          [10_800, "fail"],
          [-10_800, "fail"],
          [-1.5, "fail"],
          [0.3, "warn"],
          [0, "pass"],
        ] as const) {
          const source = `server 127.0.0.1 port ${port} iburst minpoll -4 maxpoll -4 offset ${seconds}`;
          await start("chrony-client", "/run/chrony", ["port 0", source]);
          // Two programs of a busy machine look at one clock, many times a second.
          await eventually(async () => {
            const found = await look({ warn: 150 });
            expect(found).toMatchObject({ status, details: { program: "chrony", server: "127.0.0.1", stratum: 6 } });
            const offsetMs = Number(found.details["offset_ms"]);
            expect(Math.abs(offsetMs - seconds * 1000)).toBeLessThan(150);
            see(found);
          });
          if (seconds !== 0) await stop("chrony-client");
        }
        expect(await look({ warn: 150, aheadMs: -3 * 3_600_000 })).toMatchObject({
          status: "warn",
          message: expect.stringMatching(/^The clock was set back since 127\.0\.0\.1 answered last, 1(79|80) min/),
        });
        await stop("chrony-client", "chrony-server");
        await start("chrony-client", "/run/chrony", ["port 0"]);
        await eventually(() => session.host.exec(["chronyc", "-c", "tracking"]));
        expect(see(await look())).toMatchObject({ status: "skip" });
        await stop("chrony-client");
      },
    );
  }
});
