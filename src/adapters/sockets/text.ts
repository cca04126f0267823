import { readFile } from "node:fs/promises";
import { orUndefined } from "#kernel/errors.ts";

/** The text of a file; empty where the kernel has no such thing, such as IPv6. */
export async function readText(path: string): Promise<string> {
  return (await orUndefined(readFile(path, "utf8"))) ?? "";
}
