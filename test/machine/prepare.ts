import { ensureImage } from "../host/image.ts";
import { defaultSuite } from "../host/recipe.ts";
import { ensureDeb } from "../host/support/deb.ts";
import { packageVersion } from "./machine.ts";
import { requireMachine } from "./requirements.ts";

/** Builds the image and the package, before the first test: together they take longer than a test may. */
export async function setup(): Promise<void> {
  if (!requireMachine().available) return;
  const log = (line: string): void => void process.stdout.write(`${line}\n`);
  await ensureImage(defaultSuite(), log, "machine");
  await ensureDeb(packageVersion);
}
