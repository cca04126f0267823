import type { NotShown } from "#contract/schema.ts";
import { oneLine } from "./output.ts";

/** Says what an answer lacks, a line for each. */
export function printNotShown(write: (text: string) => void, missing: NotShown = []): void {
  for (const { what, reason } of missing) write(`${oneLine(`not shown: ${what}: ${reason}`)}\n`);
}
