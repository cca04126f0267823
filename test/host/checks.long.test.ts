import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CheckStatus } from "#contract/checks.ts";
import type { Outcome } from "#domain/health/check.ts";
import { runCommand } from "./commands.ts";
import { checkCommand, parseOutcome, type RunOptions, runCheck } from "./support/check.ts";
import { withControlGroup } from "./support/control-group.ts";
import { eventually } from "./support/eventually.ts";
import { recordKernelLines } from "./support/journal.ts";
import { withKernelClock } from "./support/kernel-clock.ts";
import { describeOnHost } from "./support/session.ts";
import {
  createSmallDisk,
  kernelLinesAbout,
  lastKernelLineAt,
  type ThinDisk,
  withThinDisk,
} from "./support/small-disk.ts";

const megabyte = 2 ** 20;
const directory = "/mnt/small disk";
const quoted = `'${directory}'`;
/** The machine is shared: what else is mounted may be as full as it is. */
const looksOnlyAt = (details: object, path: string): unknown =>
  (Reflect.get(details, "file_systems") as { path: string }[]).find((each) => each.path === path);
const thin = "/mnt/thin";
const engine = ["/usr/sbin/dockerd", "/usr/bin/containerd", "/usr/sbin/runc"];
const hasXfs = existsSync("/usr/sbin/mkfs.xfs") && /^\s*xfs$/m.test(readFileSync("/proc/filesystems", "utf8"));

describeOnHost("checks on a broken host", (session) => {
  const check = (id: string) => session.api.getCheck({ params: { check_id: id } });
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);

  describe("on a small disk", () => {
    beforeAll(async () => {
      const dir = mkdtempSync(join(tmpdir(), "steward-disk-"));
      try {
        const image = join(dir, "image");
        writeFileSync(image, "");
        truncateSync(image, 32 * megabyte);
        await runCommand(["mkfs.ext4", "-q", "-N", "128", image]);
        const device = (await runCommand(["losetup", "--find", "--show", image])).stdout.trim();
        try {
          const number = /\d+$/.exec(device)?.[0] ?? "";
          await session.shell(`test -e ${device} || mknod ${device} b 7 ${number}`);
          await session.shell(`mkdir -p ${quoted} && mount ${device} ${quoted}`);
        } finally {
          // The kernel lets go of it when the guest unmounts it, or ends.
          await runCommand(["losetup", "--detach", device]);
        }
      } finally {
        rmSync(dir, { recursive: true });
      }
    });
    afterAll(() => session.shell(`umount ${quoted}`));

    it("disk_space keeps its status near a threshold, also over a restart of the service", async () => {
      const file = `${quoted}/filling`;
      const statusAt = async (percent: number) => {
        const lines = [
          `rm -f ${file}; sync`,
          `set -- $(df --output=used,avail -B1 ${quoted} | tail -n 1)`,
          `fallocate -l $((($1 + $2) / 100 * ${percent} - $1)) ${file}; sync`,
        ];
        await session.shell(lines.join("\n"));
        const { details } = await session.api.getCheck({ params: { check_id: "disk_space" } });
        return Reflect.get(looksOnlyAt(details, directory) as object, "status");
      };
      try {
        expect([await statusAt(70), await statusAt(79), await statusAt(81), await statusAt(79)]).toEqual([
          "pass",
          "pass",
          "warn",
          "warn",
        ]);
        await session.service.restart();
        expect([await statusAt(79), await statusAt(70), await statusAt(79)]).toEqual(["warn", "pass", "pass"]);
      } finally {
        await session.shell(`rm -f ${file}`);
      }
    });

    describe("with a root that is a directory of another file system, as in containers", () => {
      const root = "/srv/directory-root";
      const inside = (id: string): Promise<Outcome> => {
        const words = checkCommand(id).map((word) => `'${word}'`);
        const lines = [
          `mount --bind ${root} ${root}`,
          ...["/usr", "/opt"].map((path) => `mount --rbind ${path} ${root}${path}`),
          // One file system that is seen nowhere as a whole.
          `mount --bind ${quoted}/part ${root}/data`,
          `mount -t proc proc ${root}/proc`,
          `mount --rbind /dev ${root}/dev`,
          `exec chroot ${root} ${words.join(" ")}`,
        ];
        const script = `set -e\n${lines.join("\n")}\n`;
        return session
          .shell(
            `cat > /root/inside <<'END'\n${script}END\nunshare --mount --pid --fork --propagation private sh /root/inside`,
          )
          .then(parseOutcome);
      };

      beforeAll(() =>
        session.shell(
          `mkdir -p ${quoted}/part; cd /srv; mkdir -p directory-root/usr directory-root/opt directory-root/data directory-root/proc directory-root/dev; ` +
            "for each in bin sbin lib lib64; do ln -sfn usr/$each directory-root/$each; done",
        ),
      );

      it.each(["disk_space", "inode_usage"])("%s inspects the root and bind mounts", async (id) => {
        const { status, details } = await inside(id);
        expect(status).not.toBe("skip");
        const paths = (details["file_systems"] as { path: string }[]).map(({ path }) => path);
        // btrfs has no fixed number of inodes.
        expect(paths).toEqual(expect.arrayContaining(id === "disk_space" ? ["/", "/data"] : ["/data"]));
        // The same file system once.
        expect(paths).not.toContain("/usr");
      });

      it("read_only_filesystems inspects the root", async () => {
        expect(await inside("read_only_filesystems")).toMatchObject({ status: "pass" });
      });
    });

    it("disk_space warns on a disk that is nine tenths full, fails on a full one and agrees with df", async () => {
      expect(looksOnlyAt((await runCheck(session, "disk_space")).details, directory)).toMatchObject({
        total_gb: expect.closeTo(0.03, 2),
      });
      const space = Number(await session.shell(`df --output=avail -B1 ${quoted} | tail -1`));
      await session.shell(`head -c ${Math.round(space * 0.905)} /dev/zero > ${quoted}/filling`);
      const filled = await runCheck(session, "disk_space");
      expect(filled).toMatchObject({ status: "warn", details: { path: directory } });
      // df rounds up.
      const { percent_used: percent } = looksOnlyAt(filled.details, directory) as { percent_used: number };
      expect(Math.ceil(percent)).toBe(
        Number.parseInt(await session.shell(`df --output=pcent ${quoted} | tail -1`), 10),
      );
      await session.shell(`cat /dev/zero >> ${quoted}/filling 2>/dev/null || true`);
      expect(await runCheck(session, "disk_space")).toMatchObject({
        status: "fail",
        message: expect.stringMatching(/^\/mnt\/small disk is 100 % full: 0 B of [\d.]+ MiB left/),
        details: { path: directory, percent_used: 100, free_gb: 0 },
      });
      expect((await runCheck(session, "disk_space", { ignore: [directory] })).status).toBe("pass");
      await session.shell(`rm ${quoted}/filling`);
      expect((await runCheck(session, "disk_space")).status).toBe("pass");
    });

    it("inode_usage fails on an ext4 without a free inode", async () => {
      await session.shell(`cd ${quoted} && (for n in $(seq 200); do : > file-$n || exit; done) 2>/dev/null || true`);
      expect(await runCheck(session, "inode_usage")).toMatchObject({
        status: "fail",
        details: { path: directory, percent_used: 100, free_inodes: 0 },
      });
      expect(looksOnlyAt((await runCheck(session, "disk_space")).details, directory)).toMatchObject({
        free_gb: expect.closeTo(0.03, 1),
      });
      await session.shell(`rm ${quoted}/file-*`);
      expect((await runCheck(session, "inode_usage")).status).toBe("pass");
    });

    it("inode_usage fails on a tmpfs without a free inode, until it is unmounted", async () => {
      await session.shell("mkdir -p /mnt/few && mount -t tmpfs -o size=4m,nr_inodes=20 none /mnt/few");
      try {
        await session.shell("cd /mnt/few && (for n in $(seq 30); do : > $n || exit; done) 2>/dev/null || true");
        expect(await runCheck(session, "inode_usage")).toMatchObject({
          status: "fail",
          details: { path: "/mnt/few", free_inodes: 0, total_inodes: 20 },
        });
      } finally {
        await session.shell("umount /mnt/few");
      }
      expect((await runCheck(session, "inode_usage")).status).toBe("pass");
    });

    it("read_only_filesystems passes on a file system that somebody has mounted read-only", async () => {
      await session.shell(`mount -o remount,ro ${quoted}`);
      expect(await runCheck(session, "read_only_filesystems")).toMatchObject({
        status: "pass",
        details: { looked_at: expect.not.arrayContaining([directory]), read_only: [] },
      });
      await session.shell(`mount -o remount,rw ${quoted}`);
    });

    it("read_only_filesystems fails on an ext4 that the kernel made read-only after an error", async () => {
      await session.shell(`mount -o remount,errors=remount-ro ${quoted}`);
      const device = (await session.shell(`findmnt -no SOURCE ${quoted}`)).trim();
      // From outside: the guest may not write there.
      writeFileSync(`/sys/fs/ext4/${device.replace("/dev/", "")}/trigger_fs_error`, "1");
      expect(await session.shell(`touch ${quoted}/new 2>&1 || true`)).toMatch(/Read-only file system/);
      expect(await runCheck(session, "read_only_filesystems")).toMatchObject({
        status: "fail",
        details: { read_only: [{ path: directory }] },
      });
    });
  });

  describe("on a disk that fails below its file system", () => {
    /** What a check of storage says of the disk alone: the machine is shared, and others may have trouble of their own. */
    const about = async (id: "filesystem_health" | "read_only_filesystems", options: RunOptions = {}) => {
      const { status, details } = await runCheck(session, id, options);
      const listed = details[id === "filesystem_health" ? "file_systems" : "read_only"] as readonly { path: string }[];
      return { status, found: listed.find((each) => each.path === thin) };
    };
    const write = (megabytes: number) =>
      session.shell(
        `dd if=/dev/urandom of=${thin}/file bs=1M count=${megabytes} conv=fsync 2>&1; touch ${thin}/new; sync -f ${thin} 2>&1; touch ${thin}/more 2>&1; true`,
      );

    /** Lets the disk fail, and puts what the kernel says of it since then into the journal. */
    const failing = async (disk: ThinDisk, name: string): Promise<{ device: string; lines: readonly string[] }> => {
      const device = await disk.device();
      const before = await lastKernelLineAt();
      await disk.exhaust();
      await write(16);
      // XFS has started a part of its journal before.
      await session.shell(`(cd ${thin} && seq 20000 | xargs touch; sync -f .) > /dev/null 2>&1; true`);
      const lines = await eventually(async () => {
        const said = await kernelLinesAbout(device, before);
        expect(said.join("\n")).toMatch(/error/);
        return said;
      });
      await recordKernelLines(session, name, lines);
      return { device, lines };
    };
    const errors = async (device: string) => {
      const { status, details } = await session.api.getCheck({ params: { check_id: "kernel_errors" } });
      const all = Reflect.get(details, "errors") as readonly { rule: string; object: string }[];
      return { status, rules: all.filter(({ object }) => object === device).map(({ rule }) => rule) };
    };

    it("read_only_filesystems, filesystem_health and kernel_errors fail on an ext4 whose disk takes no more writes", async () => {
      const sizes = { megabytes: 256, behindMegabytes: 24 };
      const make = ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
      await withThinDisk(session, sizes, make, async (disk) => {
        await disk.mount(thin);
        await write(1);
        expect((await about("read_only_filesystems")).found).toBeUndefined();
        const { device, lines } = await failing(disk, "thin-ext4");
        expect(await about("read_only_filesystems")).toMatchObject({
          status: "fail",
          found: { path: thin, type: "ext4" },
        });
        expect(await about("filesystem_health")).toMatchObject({
          status: "fail",
          found: { path: thin, errors: { errors: expect.any(Number) } },
        });
        await eventually(async () => {
          const rules = expect.arrayContaining(["ext4_error", "no_space_behind"]);
          expect(await errors(device), lines.join("\n")).toEqual({ status: "fail", rules });
        });
      });
    });

    it("read_only_filesystems and kernel_errors fail on a btrfs whose disk takes no more writes", async () => {
      const sizes = { megabytes: 256, behindMegabytes: 24 };
      const make = ["mkfs.btrfs", "-q", "-m", "single", "-d", "single"];
      await withThinDisk(session, sizes, make, async (disk) => {
        await disk.mount(thin);
        await write(1);
        expect((await about("read_only_filesystems")).found).toBeUndefined();
        const { device } = await failing(disk, "thin-btrfs");
        expect(await about("read_only_filesystems")).toMatchObject({
          status: "fail",
          found: { path: thin, type: "btrfs" },
        });
        await eventually(async () =>
          expect(await errors(device)).toEqual({ status: "fail", rules: expect.arrayContaining(["btrfs_error"]) }),
        );
      });
    });

    if (!hasXfs)
      process.stdout.write("skipped: XFS: missing: mkfs.xfs (apt-get install xfsprogs), or XFS in the kernel\n");
    describe.runIf(hasXfs)("XFS", () => {
      it("read_only_filesystems and kernel_errors fail on an XFS that shut itself down", async () => {
        await withThinDisk(session, { megabytes: 400, behindMegabytes: 120 }, ["mkfs.xfs", "-q"], async (disk) => {
          await disk.mount(thin);
          await write(1);
          expect((await about("read_only_filesystems")).found).toBeUndefined();
          const { device } = await failing(disk, "thin-xfs");
          expect(await session.shell(`grep ' ${thin} ' /proc/mounts`)).toContain("xfs rw,");
          expect(await about("read_only_filesystems")).toMatchObject({
            status: "fail",
            found: { path: thin, type: "xfs" },
          });
          await eventually(async () =>
            expect(await errors(device)).toEqual({
              status: "fail",
              rules: expect.arrayContaining(["xfs_error", "no_space_behind"]),
            }),
          );
        });
      });

      it("disk_space warns on an XFS that is nearly full, until it is emptied", async () => {
        const disk = await createSmallDisk(session, 400, ["mkfs.xfs", "-q"]);
        await disk.mount(thin);
        try {
          const space = async () => {
            const { details } = await runCheck(session, "disk_space");
            const all = details["file_systems"] as readonly {
              path: string;
              status: CheckStatus;
              percent_used: number;
            }[];
            return all.find((each) => each.path === thin) ?? { status: "skip", percent_used: -1 };
          };
          await session.shell(
            `set -- $(df --output=used,avail -B1 ${thin} | tail -n 1); fallocate -l $((($1 + $2) / 1000 * 885 - $1)) ${thin}/filling; sync -f ${thin}`,
          );
          const full = await space();
          expect(full.status).toBe("warn");
          // df rounds up, so it is not filled to a whole number.
          expect(Math.ceil(full.percent_used)).toBe(
            Number.parseInt(await session.shell(`df --output=pcent ${thin} | tail -n 1`), 10),
          );
          await session.shell(`rm ${thin}/filling; sync -f ${thin}`);
          expect((await space()).status).toBe("pass");
        } finally {
          await disk.unmount();
          disk.dispose();
        }
      });
    });
  });

  it("disk_space fails on a full NTFS of a local disk, which ntfs-3g mounts, and names it once that has died", async () => {
    const disk = await createSmallDisk(session, 16, ["true"]);
    const path = "/mnt/ntfs";
    await session.shell("test -e /dev/fuse || mknod /dev/fuse c 10 229");
    await disk.mount(path, { make: "mkntfs -q -Q" });
    try {
      expect(await session.shell(`findmnt -no FSTYPE ${path}`)).toBe("fuseblk\n");
      const found = async () => {
        const { status, details } = await check("disk_space");
        return { status, found: looksOnlyAt(details, path) };
      };
      expect(await found()).toMatchObject({ found: { status: "pass" } });
      await session.shell(`cat /dev/zero > ${path}/filling 2>/dev/null || true`);
      expect(await found()).toMatchObject({ status: "fail", found: { status: "fail" } });
      await session.shell(`pkill --full --signal KILL '^/\\S*mount.ntfs.* ${path}( |$)'`);
      const named = { unreadable: [{ path, reason: "ENOTCONN" }] };
      await eventually(async () => expect((await check("disk_space")).details).toMatchObject(named));
      expect((await check("disk_space")).details).toMatchObject({
        file_systems: expect.arrayContaining([expect.objectContaining({ path: "/" })]),
      });
      expect(await check("read_only_filesystems")).toMatchObject({ status: "fail", details: named });
    } finally {
      await disk.unmount();
      disk.dispose();
    }
  });

  const missingDocker = engine.filter((path) => !existsSync(path));
  if (missingDocker.length > 0)
    process.stdout.write(
      `skipped: Docker by a socket: missing: ${missingDocker.join(", ")} (apt-get install docker.io runc)\n`,
    );
  it.skipIf(missingDocker.length > 0)(
    "containers are those of a dockerd with another pid file and systemd's socket, and no question starts it",
    async () => {
      const directory = "/opt/docker";
      await session.shell(`mkdir -p ${directory}`);
      for (const path of engine) {
        const libraries = (await runCommand(["ldd", path])).stdout.matchAll(/=> (\/\S+)/g);
        // The C library is the host's own.
        const needed = [...libraries].map(([, library = ""]) => library).filter((each) => !/\/lib[cm]\.so/.test(each));
        await runCommand(["cp", "--dereference", path, ...needed, `${session.host.root}${directory}`]);
      }
      const without = "--storage-driver vfs --bridge none --iptables=false --ip6tables=false --ip-forward=false";
      await session.writeUnits({
        "docker.socket": ["[Socket]", "ListenStream=/run/docker.sock"],
        "docker.service": [
          "[Service]",
          "Type=notify",
          "RuntimeDirectory=elsewhere",
          `Environment=LD_LIBRARY_PATH=${directory} PATH=${directory}:/usr/sbin:/usr/bin`,
          `ExecStart=${directory}/dockerd -H fd:// --pidfile /run/elsewhere/docker.pid ${without}`,
        ],
      });
      await systemctl("start", "docker.socket");
      expect(await check("containers")).toMatchObject({ status: "skip" });
      expect(await session.shell("systemctl is-active docker.service || true")).toBe("inactive\n");
      await systemctl("start", "docker.service");
      expect(await check("containers")).toMatchObject({ status: "pass", details: { engines: ["docker"], total: 0 } });
      await systemctl("stop", "docker.service");
      expect(await check("containers")).toMatchObject({ status: "skip" });
      expect(await session.shell("systemctl is-active docker.service || true")).toBe("inactive\n");
      await systemctl("stop", "docker.socket");
    },
  );

  it("systemd_failed fails for a service that exits with 1, until it is reset", async () => {
    await session.writeUnits({ "broken.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"] });
    expect(await check("systemd_failed")).toMatchObject({ status: "pass" });
    await session.shell("systemctl start broken.service || true");
    await eventually(async () =>
      expect(await check("systemd_failed")).toMatchObject({
        status: "fail",
        message: expect.stringContaining("broken.service (exit-code)"),
        details: { units: [{ name: "broken.service", result: "exit-code" }] },
      }),
    );
    await systemctl("reset-failed", "broken.service");
    await eventually(async () => expect(await check("systemd_failed")).toMatchObject({ status: "pass" }));
  });

  it("systemd_failed fails for a mount and a socket, until they are reset", async () => {
    await session.writeUnits({
      "mnt-none.mount": ["[Mount]", "What=none", "Where=/mnt/none", "Type=no-such-type"],
      // An address that no host has: it is for documentation (RFC 5737).
      "elsewhere.socket": ["[Socket]", "ListenStream=192.0.2.77:7777"],
      "elsewhere.service": ["[Service]", "ExecStart=/bin/true"],
    });
    const names = ["elsewhere.socket", "mnt-none.mount"];
    await session.shell(`systemctl start ${names.join(" ")} || true`);
    await eventually(async () => {
      const { status, details } = await check("systemd_failed");
      expect([status, details]).toEqual([
        "fail",
        { units: names.map((name) => ({ name, result: expect.stringMatching(/^(resources|exit-code)$/) })) },
      ]);
    });
    await systemctl("reset-failed", ...names);
    await eventually(async () => expect(await check("systemd_failed")).toMatchObject({ status: "pass" }));
  });

  it("time_sync follows timedatectl and what the kernel believes of its clock", async () => {
    const looksLike = (status: string, details: object) =>
      eventually(async () => expect(await check("time_sync")).toMatchObject({ status, details }));
    await withKernelClock(async ({ believe }) => {
      await believe(false);
      await looksLike("skip", { can_sync: false, synchronised: false });
      await session.writeUnits({
        "clock-setter.service": [
          "[Service]",
          "ExecStart=/bin/sleep infinity",
          "[Install]",
          "WantedBy=multi-user.target",
        ],
      });
      await session.host.writeFile("/usr/lib/systemd/ntp-units.d/10-test.list", "clock-setter.service\n");
      await session.shell("systemctl restart systemd-timedated.service && timedatectl set-ntp false");
      await looksLike("fail", { can_sync: true, enabled: false, synchronised: false });
      await session.host.exec(["timedatectl", "set-ntp", "true"]);
      await looksLike("warn", { enabled: true, synchronised: false });
      await believe(true);
      await looksLike("pass", { enabled: true, synchronised: true });
      await session.host.exec(["timedatectl", "set-ntp", "false"]);
    });
  });

  /** Lets a process ask for more than its group has. @returns what the kernel said of it, word for word. */
  const outgrow = async (): Promise<readonly string[]> => {
    let lines: readonly string[] = [];
    await withControlGroup(session, 48 * megabyte, async (group) => {
      const { exitCode } = await group.exec(["leaky", "-c", "memory = bytearray(256 << 20)"]);
      expect(exitCode).not.toBe(0);
      const said = (await runCommand(["dmesg", "--notime", "--color=never"])).stdout.split("\n");
      const pid = said
        .filter((line) => line.startsWith("oom-kill:") && line.includes(`oom_memcg=${group.path},`))
        .map((line) => /,task=leaky,pid=(\d+),/.exec(line)?.[1])
        .at(-1);
      expect(pid).toBeDefined();
      lines = said.filter((line) => line.includes(`pid=${pid},`) || line.includes(`Killed process ${pid} (leaky)`));
    });
    return lines;
  };

  it("oom_kills warns of one kill, fails for five in a day, and passes a day later", async () => {
    const check = () => session.api.getCheck({ params: { check_id: "oom_kills" } });
    await session.host.exec(["cp", "/usr/bin/python3", "/usr/local/bin/leaky"]);
    expect(await check()).toMatchObject({ status: "pass", details: { count: 0 } });
    await recordKernelLines(session, "first", await outgrow());
    await eventually(async () =>
      expect(await check()).toMatchObject({
        status: "warn",
        message: "The OOM killer killed leaky (1 kill in 24 h)",
        details: { kills: [{ process: "leaky" }] },
      }),
    );
    const more = [];
    for (let times = 0; times < 4; times += 1) more.push(...(await outgrow()));
    await recordKernelLines(session, "more", more);
    await eventually(async () => expect(await check()).toMatchObject({ status: "fail", details: { count: 5 } }));
    expect(await runCheck(session, "oom_kills")).toMatchObject({ status: "fail", details: { count: 5 } });
    expect(await runCheck(session, "oom_kills", { ignore: ["leak*"] })).toMatchObject({ status: "pass" });
    const dayLater = { aheadMs: 25 * 3_600_000 };
    expect(await runCheck(session, "oom_kills", dayLater)).toMatchObject({ status: "pass" });
  });

  it("raid_status is skipped where the kernel has no RAID arrays", async () => {
    const found = await session.shell("grep -c '^md' /proc/mdstat 2>/dev/null || true");
    expect((await runCheck(session, "raid_status")).status === "skip").toBe(Number(found) === 0);
  });
});
