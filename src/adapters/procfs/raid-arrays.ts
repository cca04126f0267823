import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RaidArrays } from "#domain/ports/storage.ts";
import { isNotFound } from "#kernel/errors.ts";
import { parseMdstat } from "./mdstat.ts";

/** Software RAID from /proc/mdstat. The file exists once the md module is loaded. */
export function createRaidArrays(ports: { procDir?: string } = {}): RaidArrays {
  const { procDir = "/proc" } = ports;
  return {
    async list() {
      try {
        return parseMdstat(await readFile(join(procDir, "mdstat"), "utf8"));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
  };
}
