import { existsSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import type { CheckStatus } from "#contract/checks.ts";
import { type RunOptions, runCheck } from "./support/check.ts";
import { eventually } from "./support/eventually.ts";
import { recordKernelLines } from "./support/journal.ts";
import { provoke } from "./support/provoke.ts";
import { describeOnHost } from "./support/session.ts";
import {
  createSmallDisk,
  kernelLinesAbout,
  lastKernelLineAt,
  type ThinDisk,
  withThinDisk,
} from "./support/small-disk.ts";

const path = "/mnt/thin";
const hasXfs = existsSync("/usr/sbin/mkfs.xfs") && /^\s*xfs$/m.test(readFileSync("/proc/filesystems", "utf8"));

describeOnHost("checks of a disk that fails below its file system", (session) => {
  /** What a check of storage says of the disk alone: the machine is shared, and others may have trouble of their own. */
  const about = async (id: "filesystem_health" | "read_only_filesystems", options: RunOptions = {}) => {
    const { status, details } = await runCheck(session, id, options);
    const listed = details[id === "filesystem_health" ? "file_systems" : "read_only"] as readonly { path: string }[];
    return { status, found: listed.find((each) => each.path === path) };
  };
  const write = (megabytes: number) =>
    session.shell(
      `dd if=/dev/urandom of=${path}/file bs=1M count=${megabytes} conv=fsync 2>&1; touch ${path}/new; sync -f ${path} 2>&1; touch ${path}/more 2>&1; true`,
    );

  /** Lets the disk fail, and puts what the kernel says of it since then into the journal. */
  const failing = async (disk: ThinDisk, name: string): Promise<{ device: string; lines: readonly string[] }> => {
    const device = await disk.device();
    const before = await lastKernelLineAt();
    await disk.exhaust();
    await write(16);
    // XFS has begun a part of its journal before.
    await session.shell(`(cd ${path} && seq 20000 | xargs touch; sync -f .) > /dev/null 2>&1; true`);
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

  provoke("read_only_filesystems", "an ext4 whose disk takes no more writes", async (see) => {
    const sizes = { megabytes: 256, behindMegabytes: 24 };
    const make = ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
    await withThinDisk(session, sizes, make, async (disk) => {
      await disk.mount(path);
      await write(1);
      expect((await about("read_only_filesystems")).found).toBeUndefined();
      const { device, lines } = await failing(disk, "thin-ext4");
      expect(see(await about("read_only_filesystems"))).toMatchObject({
        status: "fail",
        found: { path, type: "ext4" },
      });
      expect(await about("filesystem_health")).toMatchObject({
        status: "fail",
        found: { path, errors: { errors: expect.any(Number) } },
      });
      await eventually(async () => {
        const rules = expect.arrayContaining(["ext4_error", "no_space_behind"]);
        expect(await errors(device), lines.join("\n")).toEqual({ status: "fail", rules });
      });
    });
  });

  provoke("read_only_filesystems", "a btrfs whose disk takes no more writes", async (see) => {
    const sizes = { megabytes: 256, behindMegabytes: 24 };
    const make = ["mkfs.btrfs", "-q", "-m", "single", "-d", "single"];
    await withThinDisk(session, sizes, make, async (disk) => {
      await disk.mount(path);
      await write(1);
      expect((await about("read_only_filesystems")).found).toBeUndefined();
      const { device } = await failing(disk, "thin-btrfs");
      expect(see(await about("read_only_filesystems"))).toMatchObject({
        status: "fail",
        found: { path, type: "btrfs" },
      });
      await eventually(async () =>
        expect(await errors(device)).toEqual({ status: "fail", rules: expect.arrayContaining(["btrfs_error"]) }),
      );
    });
  });

  if (!hasXfs)
    process.stdout.write("skipped: XFS: missing: mkfs.xfs (apt-get install xfsprogs), or XFS in the kernel\n");
  if (hasXfs) {
    provoke(
      "read_only_filesystems",
      "an XFS that shut itself down since its disk takes no more writes",
      async (see) => {
        await withThinDisk(session, { megabytes: 400, behindMegabytes: 120 }, ["mkfs.xfs", "-q"], async (disk) => {
          await disk.mount(path);
          await write(1);
          expect((await about("read_only_filesystems")).found).toBeUndefined();
          const { device } = await failing(disk, "thin-xfs");
          expect(await session.shell(`grep ' ${path} ' /proc/mounts`)).toContain("xfs rw,");
          expect(see(await about("read_only_filesystems"))).toMatchObject({
            status: "fail",
            found: { path, type: "xfs" },
          });
          await eventually(async () =>
            expect(await errors(device)).toEqual({
              status: "fail",
              rules: expect.arrayContaining(["xfs_error", "no_space_behind"]),
            }),
          );
        });
      },
    );

    provoke("disk_space", "an XFS nearly filled, then emptied", async (see) => {
      const disk = await createSmallDisk(session, 400, ["mkfs.xfs", "-q"]);
      await disk.mount(path);
      try {
        const space = async () => {
          const { details } = await runCheck(session, "disk_space");
          const all = details["file_systems"] as readonly { path: string; status: CheckStatus; percent_used: number }[];
          return all.find((each) => each.path === path) ?? { status: "skip", percent_used: -1 };
        };
        await session.shell(
          `set -- $(df --output=used,avail -B1 ${path} | tail -n 1); fallocate -l $((($1 + $2) / 1000 * 885 - $1)) ${path}/filling; sync -f ${path}`,
        );
        const full = see(await space());
        expect(full.status).toBe("warn");
        // df rounds up, so it is not filled to a whole number.
        expect(Math.ceil(full.percent_used)).toBe(
          Number.parseInt(await session.shell(`df --output=pcent ${path} | tail -n 1`), 10),
        );
        await session.shell(`rm ${path}/filling; sync -f ${path}`);
        expect(see(await space()).status).toBe("pass");
      } finally {
        await disk.unmount();
        disk.dispose();
      }
    });
  }
});
