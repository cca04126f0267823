import { readFileSync, writeFileSync } from "node:fs";

const path = "/proc/sys/fs/file-max";

/**
 * Lowers how many file handles the kernel of the machine has for all processes together, and gives back what it was. Root is
 * not held to it, and a test leaves others far more than they need.
 */
export async function withFileLimit(
  work: (limit: { readonly lower: (handles: number) => void }) => Promise<void>,
): Promise<void> {
  const before = readFileSync(path, "utf8");
  try {
    await work({ lower: (handles) => writeFileSync(path, `${handles}\n`) });
  } finally {
    writeFileSync(path, before);
  }
}
