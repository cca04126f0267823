import { writeFileSync } from "node:fs";
import { eventually } from "../eventually.ts";
import { recordKernelLines } from "../journal.ts";
import type { Session } from "../session.ts";
import { createSmallDisk, kernelLinesAbout, lastKernelLineAt, type SmallDisk } from "../small-disk.ts";
import { type Fault, leads, start, stop, writeDaemon } from "./fault.ts";

/** A fault on a small disk of its own, mounted at `path`. */
function onSmallDisk(
  { path, megabytes, make }: { readonly path: string; readonly megabytes: number; readonly make?: readonly string[] },
  fault: Omit<Fault, "provoke" | "repair"> & {
    readonly provoke: (session: Session) => Promise<unknown>;
    readonly repair?: (session: Session) => Promise<unknown>;
  },
): Fault {
  let disk: SmallDisk | undefined;
  return {
    ...fault,
    async provoke(session) {
      disk = await createSmallDisk(session, megabytes, ...(make === undefined ? [] : [make]));
      await disk.mount(path);
      await fault.provoke(session);
    },
    async repair(session) {
      await fault.repair?.(session);
      await disk?.unmount();
      disk?.dispose();
    },
  };
}

const few = ["mkfs.ext4", "-q", "-m", "0", "-I", "256", "-N", "512"];
/** Larger than what makes the trouble, and of no interest. */
const beside = (path: string, count: number, kilobytes: number): string =>
  `for n in $(seq ${count}); do mkdir -p ${path}/archive/$n && head -c ${kilobytes}k /dev/zero > ${path}/archive/$n/pictures; done`;

const keepsDeleted = `
import os, time
with open("/srv/export/spool.tmp", "wb") as spool:
    os.unlink("/srv/export/spool.tmp")
    try:
        while True:
            spool.write(bytes(1 << 20))
            spool.flush()
    except OSError:
        pass
    print("spooled", flush=True)
    time.sleep(10000)
`;
const writesLog = `
import time
with open("/srv/shop/log/trace.log", "ab") as log:
    try:
        while True:
            log.write(b"trace: nothing happened\\n" * 4096)
            log.flush()
    except OSError:
        pass
    time.sleep(10000)
`;

export const storageFaults: readonly Fault[] = [
  onSmallDisk(
    { path: "/srv/shop", megabytes: 32 },
    {
      name: "disk-filled-by-a-log",
      what: "a log file fills a disk on which larger files have been for long",
      check: "disk_space",
      found: /^\/srv\/shop is \d/,
      cause: "the file /srv/shop/log/trace.log",
      evidence: {
        "What uses most space, as far as the service may read it":
          /^written in the last hour: \/srv\/shop\/log\/trace\.log: [\d.]+ MiB/m,
      },
      async provoke(session) {
        await session.shell(
          `mkdir -p /srv/shop/log && ${beside("/srv/shop", 14, 1700)} && find /srv/shop/archive -exec touch -d '3 days ago' {} +`,
        );
        await writeDaemon(session, "shopd", writesLog);
        await start(session, "shopd.service");
      },
      repair: stop("shopd.service"),
    },
  ),
  onSmallDisk(
    { path: "/srv/export", megabytes: 32 },
    {
      name: "disk-filled-by-a-deleted-file",
      what: "a process keeps writing to a file that has been deleted",
      check: "disk_space",
      found: /^\/srv\/export is \d/,
      cause: "the process exporter and its file /srv/export/spool.tmp",
      evidence: {
        "Deleted files that are still open": /exporter\[\d+\] of exporter\.service.*\/srv\/export\/spool\.tmp/,
      },
      async provoke(session) {
        await writeDaemon(session, "exporter", keepsDeleted);
        await start(session, "exporter.service");
        await leads(session, "exporter", "deleted");
      },
      repair: stop("exporter.service"),
    },
  ),
  onSmallDisk(
    { path: "/srv/mail", megabytes: 32, make: few },
    {
      name: "inodes-filled",
      what: "very many small files take all inodes, beside directories that are larger",
      check: "inode_usage",
      found: /\/srv\/mail/,
      cause: "the directory /srv/mail/spool/deferred",
      evidence: {
        "Directories with most entries, as far as the service may read it":
          /^\/srv\/mail\/spool\/deferred\/: \d+ entries/m,
      },
      provoke: (session) =>
        session.shell(
          `${beside("/srv/mail", 14, 256)}; mkdir -p /srv/mail/spool/deferred && cd /srv/mail/spool/deferred && (for n in $(seq 600); do : > $n || exit; done) 2>/dev/null || true`,
        ),
    },
  ),
  onSmallDisk(
    { path: "/srv/orders", megabytes: 16 },
    {
      name: "disk-with-an-error",
      what: "the kernel finds an error in a file system and makes it read-only",
      check: "read_only_filesystems",
      found: /\/srv\/orders/,
      cause: "the line of the kernel: EXT4-fs error",
      evidence: { "Result of the check": /\/srv\/orders/, Journal: /kernel.* EXT4-fs error \(device loop/ },
      async provoke(session) {
        const before = await lastKernelLineAt();
        await session.shell("mount -o remount,errors=remount-ro /srv/orders");
        const device = (await session.shell("findmnt -no SOURCE /srv/orders")).trim().replace("/dev/", "");
        // From outside: the guest may not write there.
        writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, "1");
        const lines = await eventually(async () => {
          const said = await kernelLinesAbout(device, before);
          if (!said.some((line) => line.includes("EXT4-fs error"))) throw new Error(`not said yet: ${said.join("\n")}`);
          return said;
        });
        await recordKernelLines(session, "ext4", lines);
      },
    },
  ),
];
