import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../commands.ts";
import { eventually } from "./eventually.ts";
import type { Session } from "./session.ts";

/** A disk of a few megabytes that can be mounted anywhere in the host. */
export interface SmallDisk {
  /** Its content, on this machine. */
  readonly image: string;
  /** @param make words that make its file system inside first, where this machine need not have the program. */
  readonly mount: (path: string, options?: { readonly make?: string }) => Promise<void>;
  readonly unmount: () => Promise<void>;
  /**
   * Sets all times of files to a time, that of the last change of the entry among them, which no program can set. The disk
   * is unmounted for it and mounted again.
   * @param inodes numbers of the files, so that any name can be meant.
   */
  readonly setTimes: (inodes: readonly string[], epochSeconds: number) => Promise<void>;
  /** Repairs what is wrong with it while it is unmounted. */
  readonly check: () => Promise<void>;
  readonly dispose: () => void;
}

const ext4 = ["mkfs.ext4", "-q", "-m", "0", "-I", "256"];

const temporaryDir = (): string => mkdtempSync(join(tmpdir(), "steward-small-disk-"));

/**
 * Makes a disk, with ext4 unless another program is given. It goes with the host, or when it is unmounted and disposed of.
 * @param dir a directory of its own, where its content is.
 */
export async function createSmallDisk(
  session: Pick<Session, "shell">,
  megabytes: number,
  make: readonly string[] = ext4,
  dir = temporaryDir(),
): Promise<SmallDisk> {
  const image = join(dir, "image");
  writeFileSync(image, "");
  truncateSync(image, megabytes * 2 ** 20);
  await runCommand([...make, image]);
  let mounted = "";

  const mount: SmallDisk["mount"] = async (path, { make: makeInside } = {}) => {
    const device = (await runCommand(["losetup", "--find", "--show", image])).stdout.trim();
    try {
      const number = /\d+$/.exec(device)?.[0] ?? "";
      await session.shell(`test -e ${device} || mknod ${device} b 7 ${number}`);
      if (makeInside !== undefined) await session.shell(`${makeInside} ${device}`);
      await session.shell(`mkdir -p '${path}' && mount -o noatime ${device} '${path}'`);
      mounted = path;
    } finally {
      // The kernel lets go of it when the guest unmounts it, or ends.
      await runCommand(["losetup", "--detach", device]);
    }
  };

  const unmount = async (): Promise<void> => {
    // On Debian 13 polkit has a name space of its own, in which the disk would stay.
    const holds = (await session.shell("systemctl show -P PrivateTmp polkit.service")).trim() !== "no";
    if (holds) await session.shell("systemctl stop polkit.service");
    // The service or journald may be reading from it at this very time.
    await eventually(() => session.shell(`umount '${mounted}'`));
    // Until then the image is not wholly written.
    await eventually(async () => {
      const { stdout } = await runCommand(["losetup", "--associated", image]);
      if (stdout !== "") throw new Error(`the disk is still in use: ${stdout}`);
    });
    // Anyone who is asked while it starts is refused.
    if (holds) await session.shell("systemctl start polkit.service");
  };

  return {
    image,
    mount,
    unmount,
    async setTimes(inodes, epochSeconds) {
      await unmount();
      const lines = inodes.flatMap((inode) =>
        ["atime", "mtime", "ctime"].map((field) => `set_inode_field <${inode}> ${field} @${epochSeconds}`),
      );
      const commands = join(dir, "commands");
      writeFileSync(commands, `${lines.join("\n")}\n`);
      await runCommand(["debugfs", "-w", "-f", commands, image]);
      await mount(mounted);
    },
    async check() {
      // 1: faults were found and repaired.
      await runCommand(["e2fsck", "-f", "-y", image], { allowFailure: true });
      await runCommand(["e2fsck", "-f", "-n", image]);
    },
    dispose: () => rmSync(dir, { recursive: true }),
  };
}

/** A disk that has less behind it than it says, as a volume of a thin pool has. */
export interface ThinDisk extends SmallDisk {
  /** The name of its device while it is mounted. */
  readonly device: () => Promise<string>;
  /** Takes all that is left behind it: what is written to new places from now on fails. */
  readonly exhaust: () => Promise<void>;
}

/**
 * Runs the work with a disk whose image is sparse, on a file system in memory that is smaller.
 * @param behindMegabytes what there really is of it.
 */
export async function withThinDisk(
  session: Pick<Session, "shell">,
  sizes: { readonly megabytes: number; readonly behindMegabytes: number },
  make: readonly string[],
  work: (disk: ThinDisk) => Promise<void>,
): Promise<void> {
  const store = temporaryDir();
  await runCommand(["mount", "-t", "tmpfs", "-o", `size=${sizes.behindMegabytes}M`, "steward-thin", store]);
  try {
    const dir = join(store, "disk");
    mkdirSync(dir);
    const disk = await createSmallDisk(session, sizes.megabytes, make, dir);
    await runCommand(["fallocate", "--dig-holes", disk.image]);
    let mounted = "";
    try {
      await work({
        ...disk,
        async mount(path) {
          await disk.mount(path);
          mounted = path;
        },
        device: async () => (await session.shell(`findmnt -no SOURCE '${mounted}'`)).trim().replace("/dev/", ""),
        async exhaust() {
          await runCommand(["dd", "if=/dev/zero", `of=${join(store, "taken")}`, "bs=4k"], { allowFailure: true });
        },
      });
    } finally {
      if (mounted !== "") await disk.unmount();
    }
  } finally {
    // Guests that booted meanwhile may have it until they end.
    await runCommand(["umount", "--lazy", store]);
    rmSync(store, { recursive: true });
  }
}

/** The seconds at which the kernel has said its last line. Lines cannot be counted: it drops the oldest ones for new ones. */
export async function lastKernelLineAt(): Promise<number> {
  return (await kernelLines()).at(-1)?.at ?? 0;
}

/** The lines of the kernel about a device since then, word for word, in their order. */
export async function kernelLinesAbout(device: string, since: number): Promise<readonly string[]> {
  const said = (await kernelLines()).filter(({ at }) => at > since).map(({ line }) => line);
  return said.filter((line) => line.includes(device));
}

async function kernelLines(): Promise<readonly { readonly at: number; readonly line: string }[]> {
  const said = (await runCommand(["dmesg", "--color=never"])).stdout.split("\n");
  return said.flatMap((each) => {
    const [, at, line = ""] = /^\[ *(\d+\.\d+)\] (.*)$/.exec(each) ?? [];
    return at === undefined ? [] : [{ at: Number(at), line }];
  });
}
