import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { plainEnvironment, runCommand } from "./commands.ts";

/** A disk image attached to a loop device and mounted. */
export type Disk = { device: string; mountPoint: string };

/**
 * Mounts the file system of an image; of a btrfs the default subvolume, or the one named.
 * The kernel lets go of the loop device by itself at the unmount, so there is only the mount to take care of.
 */
export async function mountDisk(image: string, mountPoint: string, options: readonly string[] = []): Promise<Disk> {
  // Nothing here has to survive a crash of the machine, so nobody waits until the real disk has it.
  await runCommand(["mount", "-o", ["loop", "noatime", "nobarrier", ...options].join(","), image, mountPoint]);
  const { stdout } = await runCommand(["findmnt", "-nvo", "SOURCE", mountPoint]);
  return { device: stdout.trim(), mountPoint };
}

/** Unmounts everything at and below `mountPoint`; nothing mounted is fine. Waits up to 5 s for the last users to go. */
export async function unmountDisk(mountPoint: string): Promise<void> {
  for (let attempt = 0; unmountOnce(mountPoint, attempt >= 100) === "busy"; attempt += 1) {
    if (attempt > 100)
      throw new Error(`cannot unmount ${mountPoint}: it is still in use (see: fuser -vm ${mountPoint})`);
    await sleep(50);
  }
}

/** The same for the times in which nothing can be awaited any more: does what is possible, throws nothing. */
export function unmountDiskSync(mountPoint: string): void {
  let attempt = 0;
  untilSync(() => {
    attempt += 1;
    return unmountOnce(mountPoint, attempt > 80) === "free";
  });
}

/** Repeats `attempt` until it says it is done, for at most 3 s, without ever giving way to anything else. */
export function untilSync(attempt: () => boolean): boolean {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (let round = 0; round < 120; round += 1) {
    if (attempt()) return true;
    Atomics.wait(clock, 0, 0, 25);
  }
  return false;
}

function unmountOnce(mountPoint: string, lazy: boolean): "free" | "busy" {
  if (spawnSync("findmnt", ["-n", mountPoint], { env: plainEnvironment }).status !== 0) return "free";
  // The last resort takes the mount out of sight now and lets the kernel finish when the last user is gone.
  const flags = lazy ? ["--lazy", "--recursive"] : ["--recursive"];
  const { status } = spawnSync("umount", [...flags, mountPoint], { env: plainEnvironment });
  return status === 0 ? "free" : "busy";
}
