import type { NotShown } from "#contract/schema.ts";
import { oneLine } from "./output.ts";

/** Says what an answer lacks, a line for each. */
export function printNotShown(write: (text: string) => void, missing: NotShown = []): void {
  for (const { what, reason } of missing) write(`${oneLine(`not shown: ${what}: ${reason}`)}\n`);
}

/** Says that no entry of the journal was found, and where there is no journal that could have any. */
export function printNoEntries(write: (text: string) => void, missing?: NotShown): void {
  write("-- No entries --\n");
  printNotShown(write, missing);
}
