import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../commands.ts";
import { eventually } from "./eventually.ts";
import type { Session } from "./session.ts";

/** A disk of a few megabytes that can be mounted anywhere in the host. */
export interface SmallDisk {
  /** Its content, on this machine. */
  readonly image: string;
  readonly mount: (path: string) => Promise<void>;
  readonly unmount: () => Promise<void>;
  /**
   * Sets all times of files to a moment, that of the last change of the entry among them, which no program can set. The disk
   * is unmounted for it and mounted again.
   * @param inodes numbers of the files, so that any name can be meant.
   */
  readonly setTimes: (inodes: readonly string[], epochSeconds: number) => Promise<void>;
  /** Mends what is wrong with it while it is unmounted. */
  readonly check: () => Promise<void>;
  readonly dispose: () => void;
}

const ext4 = ["mkfs.ext4", "-q", "-m", "0", "-I", "256"];

/** Makes a disk, with ext4 unless another program is given. It goes with the host, or when it is unmounted and disposed of. */
export async function createSmallDisk(
  session: Pick<Session, "shell">,
  megabytes: number,
  make: readonly string[] = ext4,
): Promise<SmallDisk> {
  const dir = mkdtempSync(join(tmpdir(), "steward-small-disk-"));
  const image = join(dir, "image");
  writeFileSync(image, "");
  truncateSync(image, megabytes * 2 ** 20);
  await runCommand([...make, image]);
  let mounted = "";

  const mount = async (path: string): Promise<void> => {
    const device = (await runCommand(["losetup", "--find", "--show", image])).stdout.trim();
    try {
      const number = /\d+$/.exec(device)?.[0] ?? "";
      await session.shell(`test -e ${device} || mknod ${device} b 7 ${number}`);
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
    // The service or journald may be reading from it at this very moment.
    await eventually(() => session.shell(`umount '${mounted}'`));
    // Until then the image is not wholly written.
    await eventually(async () => {
      const { stdout } = await runCommand(["losetup", "--associated", image]);
      if (stdout !== "") throw new Error(`the disk is still in use: ${stdout}`);
    });
    // Whoever is asked while it starts is refused.
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
      // 1: faults were found and mended.
      await runCommand(["e2fsck", "-f", "-y", image], { allowFailure: true });
      await runCommand(["e2fsck", "-f", "-n", image]);
    },
    dispose: () => rmSync(dir, { recursive: true }),
  };
}
