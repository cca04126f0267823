import { ensureImage } from "./image.ts";
import { ensureProgram } from "./program.ts";
import { defaultSuite } from "./recipe.ts";
import { requireHost } from "./requirements.ts";

/** Builds what hosts are made of, before the first test: on a slow machine that takes longer than a test may. */
export async function setup(): Promise<void> {
  if (!requireHost().available) return;
  const log = (line: string): void => void process.stdout.write(`${line}\n`);
  await ensureImage(defaultSuite(), log);
  await ensureProgram(log);
}
