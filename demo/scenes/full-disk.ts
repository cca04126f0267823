import { existsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/host/commands.ts";
import type { BootedGuest } from "../../test/host/host.ts";
import type { Scene } from "../scene.ts";

const megabytes = 48;
const mountPoint = "/var/cache/apt/archives";
/** Named as apt names what it downloads: together 97 % of the disk. */
const packages: Readonly<Record<string, number>> = {
  "linux-image-6.1.0-18-amd64_6.1.76-1_amd64.deb": 21,
  "linux-headers-6.1.0-18-common_6.1.76-1_all.deb": 13,
  "firmware-misc-nonfree_20230210-5_all.deb": 8,
};

/** Mounts the disk; a loop device goes by itself when the guest unmounts it, or ends. */
async function mountInside(image: string, guest: BootedGuest): Promise<void> {
  const device = (await runCommand(["losetup", "--find", "--show", image])).stdout.trim();
  try {
    const number = /\d+$/.exec(device)?.[0] ?? "";
    await guest.exec(["sh", "-c", `test -e ${device} || mknod ${device} b 7 ${number}`]);
    await guest.exec(["mount", "-o", "noatime", device, mountPoint]);
  } finally {
    await runCommand(["losetup", "--detach", device]);
  }
}

async function fill(guest: BootedGuest): Promise<void> {
  await guest.exec(["rmdir", `${mountPoint}/lost+found`]);
  await guest.exec(["install", "-d", "-o", "_apt", "-m", "0700", `${mountPoint}/partial`]);
  for (const [name, size] of Object.entries(packages)) {
    await guest.exec(["fallocate", "-l", `${size}M`, `${mountPoint}/${name}`]);
  }
}

/** A disk of its own for downloaded packages, as good as full of old ones: what the fix of the check removes. */
export const fullDisk: Scene = {
  says: `${mountPoint}, a disk of ${megabytes} MB, is full of downloaded packages; a fix makes space`,
  async boot(guest) {
    const image = join(guest.directory, "packages.img");
    const isNew = !existsSync(image) || statSync(image).size === 0;
    if (isNew) {
      writeFileSync(image, "");
      truncateSync(image, megabytes * 2 ** 20);
      await runCommand(["mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", image]);
    }
    await mountInside(image, guest);
    if (isNew) await fill(guest);
  },
};
