import { realpathSync } from "node:fs";
import { isReachableByEverybody, readRegularFile } from "#adapters/files/index.ts";
import type { UnitFile } from "#domain/ports/unit-details.ts";
import { errorMessage } from "#kernel/errors.ts";

const maxBytes = 64 * 1024;
const readableByOthers = 0o004;

/** A unit file as every user of the host may read it, whoever this process is. */
export function readUnitFile(path: string): UnitFile {
  const withheld = "it is shown only where every user of the host may read it";
  try {
    const { content, stat } = readRegularFile(path, { maxBytes });
    if ((stat.mode & readableByOthers) === 0 || !isReachableByEverybody(realpathSync(path))) return { path, withheld };
    return { path, text: content.toString("utf8") };
  } catch (error) {
    return { path, withheld: errorMessage(error) };
  }
}
