import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Outcome } from "#domain/health/check.ts";
import { runCommand } from "./commands.ts";
import { checkCommand, parseOutcome, runCheck } from "./support/check.ts";
import { provoke } from "./support/provoke.ts";
import { describeOnHost } from "./support/session.ts";

const megabyte = 2 ** 20;
const folder = "/mnt/small disk";
const quoted = `'${folder}'`;
/** The machine is shared: what else is mounted may be as full as it is. */
const looksOnlyAt = (details: object, path: string): unknown =>
  (Reflect.get(details, "file_systems") as { path: string }[]).find((each) => each.path === path);

describeOnHost("checks of storage, on a small disk", (session) => {
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

  it("keep what they said of a figure near its threshold, also over a restart of the service", async () => {
    const file = `${quoted}/filling`;
    const statusAt = async (percent: number) => {
      const lines = [
        `rm -f ${file}; sync`,
        `set -- $(df --output=used,avail -B1 ${quoted} | tail -n 1)`,
        `fallocate -l $((($1 + $2) / 100 * ${percent} - $1)) ${file}; sync`,
      ];
      await session.shell(lines.join("\n"));
      const { details } = await session.api.getCheck({ params: { check_id: "disk_space" } });
      return Reflect.get(looksOnlyAt(details, folder) as object, "status");
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

  describe("where the root is a directory of another file system, as in containers", () => {
    const root = "/srv/directory-root";
    const inside = (id: string): Promise<Outcome> => {
      const words = checkCommand(id).map((word) => `'${word}'`);
      const lines = [
        `mount --bind ${root} ${root}`,
        ...["/usr", "/opt"].map((path) => `mount --rbind ${path} ${root}${path}`),
        // One file system that is seen nowhere as a whole.
        `mount --bind ${quoted}/part ${root}/data`,
        `mount -t proc proc ${root}/proc`,
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
        `mkdir -p ${quoted}/part; cd /srv; mkdir -p directory-root/usr directory-root/opt directory-root/data directory-root/proc; ` +
          "for each in bin sbin lib lib64; do ln -sfn usr/$each directory-root/$each; done",
      ),
    );

    it.each(["disk_space", "inode_usage"])("%s inspects it, and what is only bound", async (id) => {
      const { status, details } = await inside(id);
      expect(status).not.toBe("skip");
      const paths = (details["file_systems"] as { path: string }[]).map(({ path }) => path);
      // btrfs has no fixed number of inodes.
      expect(paths).toEqual(expect.arrayContaining(id === "disk_space" ? ["/", "/data"] : ["/data"]));
      // The same file system once.
      expect(paths).not.toContain("/usr");
    });

    it("read_only_filesystems inspects it", async () => {
      expect(await inside("read_only_filesystems")).toMatchObject({ status: "pass" });
    });
  });

  describe("disk_space", () => {
    provoke(
      "disk_space",
      "a file system of 32 MB filled to nine tenths and to the last byte, then emptied",
      async (see) => {
        expect(looksOnlyAt((await runCheck(session, "disk_space")).details, folder)).toMatchObject({
          total_gb: expect.closeTo(0.03, 2),
        });
        const room = Number(await session.shell(`df --output=avail -B1 ${quoted} | tail -1`));
        await session.shell(`head -c ${Math.round(room * 0.9)} /dev/zero > ${quoted}/filling`);
        expect(see(await runCheck(session, "disk_space"))).toMatchObject({ status: "warn", details: { path: folder } });
        await session.shell(`cat /dev/zero >> ${quoted}/filling 2>/dev/null || true`);
        expect(see(await runCheck(session, "disk_space"))).toMatchObject({
          status: "fail",
          message: expect.stringMatching(/^\/mnt\/small disk is 100 % full: 0 B of [\d.]+ MiB left/),
          details: { path: folder, percent_used: 100, free_gb: 0 },
        });
        expect((await runCheck(session, "disk_space", { ignore: [folder] })).status).toBe("pass");
        await session.shell(`rm ${quoted}/filling`);
        expect(see(await runCheck(session, "disk_space")).status).toBe("pass");
      },
    );

    it("agrees with df", async () => {
      await session.shell(`head -c 9M /dev/zero > ${quoted}/some`);
      const percent = Number.parseInt(await session.shell(`df --output=pcent ${quoted} | tail -1`), 10);
      const { details } = await runCheck(session, "disk_space");
      const found = looksOnlyAt(details, folder) as { percent_used: number };
      await session.shell(`rm ${quoted}/some`);
      // df rounds up.
      expect(Math.ceil(found.percent_used)).toBe(percent);
    });
  });

  describe("inode_usage", () => {
    provoke("inode_usage", "an ext4 without a free inode, then with all of them", async (see) => {
      await session.shell(`cd ${quoted} && (for n in $(seq 200); do : > file-$n || exit; done) 2>/dev/null || true`);
      expect(see(await runCheck(session, "inode_usage"))).toMatchObject({
        status: "fail",
        details: { path: folder, percent_used: 100, free_inodes: 0 },
      });
      expect(looksOnlyAt((await runCheck(session, "disk_space")).details, folder)).toMatchObject({
        free_gb: expect.closeTo(0.03, 1),
      });
      await session.shell(`rm ${quoted}/file-*`);
      expect(see(await runCheck(session, "inode_usage")).status).toBe("pass");
    });

    provoke("inode_usage", "a tmpfs without a free inode, then unmounted", async (see) => {
      await session.shell("mkdir -p /mnt/few && mount -t tmpfs -o size=4m,nr_inodes=20 none /mnt/few");
      try {
        await session.shell("cd /mnt/few && (for n in $(seq 30); do : > $n || exit; done) 2>/dev/null || true");
        expect(see(await runCheck(session, "inode_usage"))).toMatchObject({
          status: "fail",
          details: { path: "/mnt/few", free_inodes: 0, total_inodes: 20 },
        });
      } finally {
        await session.shell("umount /mnt/few");
      }
      expect(see(await runCheck(session, "inode_usage")).status).toBe("pass");
    });
  });

  describe("read_only_filesystems", () => {
    provoke("read_only_filesystems", "a file system mounted read-only again, then writable", async (see) => {
      expect((await runCheck(session, "read_only_filesystems")).status).toBe("pass");
      await session.shell(`mount -o remount,ro ${quoted}`);
      expect(see(await runCheck(session, "read_only_filesystems"))).toMatchObject({
        status: "fail",
        message: expect.stringMatching(/^\/mnt\/small disk is read-only/),
        details: { read_only: [{ path: folder, type: "ext4" }] },
      });
      await session.shell(`mount -o remount,rw ${quoted}`);
      expect(see(await runCheck(session, "read_only_filesystems")).status).toBe("pass");
    });

    provoke("read_only_filesystems", "an ext4 that the kernel made read-only after an error", async (see) => {
      await session.shell(`mount -o remount,errors=remount-ro ${quoted}`);
      const device = (await session.shell(`findmnt -no SOURCE ${quoted}`)).trim();
      // From outside: the guest may not write there.
      writeFileSync(`/sys/fs/ext4/${device.replace("/dev/", "")}/trigger_fs_error`, "1");
      expect(await session.shell(`touch ${quoted}/new 2>&1 || true`)).toMatch(/Read-only file system/);
      expect(see(await runCheck(session, "read_only_filesystems"))).toMatchObject({
        status: "fail",
        details: { read_only: [{ path: folder }] },
      });
    });
  });
});
