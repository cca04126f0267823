import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";

/**
 * Writes the root of a container with busybox alone: nothing is downloaded.
 * @returns the path of an archive, as `docker import` and `podman import` take it.
 */
export function writeTinyImage(dir: string): string {
  const bin = join(dir, "tree/bin");
  mkdirSync(bin, { recursive: true });
  const busybox = ["/bin/busybox", "/usr/bin/busybox"].find(existsSync) ?? "";
  copyFileSync(busybox, join(bin, "busybox"));
  chmodSync(join(bin, "busybox"), 0o755);
  for (const name of ["sh", "sleep", "false", "true", "test"]) symlinkSync("busybox", join(bin, name));
  const archive = join(dir, "image.tar");
  execFileSync("tar", ["-C", join(dir, "tree"), "-cf", archive, "."]);
  return archive;
}
