import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { orUndefined } from "#kernel/errors.ts";
import { wordFor } from "./names.ts";
import type { Offer } from "./offers.ts";

/** More than any archive has by itself, and not enough to go back to an older version. */
const priority = 1000;

/** Preferences with which an upgrade brings security versions and nothing else: all other packages stay where they are. */
export const securityPreferences = (offers: readonly Offer[], native: string): string =>
  offers
    .map(({ entry, securityVersion }) => {
      const version = securityVersion ?? entry.version;
      return `Package: ${wordFor(entry, native)}\nPin: version ${version}\nPin-Priority: ${priority}\n`;
    })
    .join("\n");

/** Does the work with preferences of its own, ahead of those of the host, which count for everything else. */
export async function withPreferences<T>(
  text: string,
  hostPreferences: string,
  work: (option: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "steward-apt-"));
  try {
    const path = join(folder, "preferences");
    const own = (await orUndefined(readFile(hostPreferences, "utf8"))) ?? "";
    await writeFile(path, `${text}\n${own}`);
    return await work(`--option=Dir::Etc::preferences=${path}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
