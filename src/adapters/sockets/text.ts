import { readFile } from "node:fs/promises";

/** The text of a file; empty where the kernel has no such thing, such as IPv6. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}
