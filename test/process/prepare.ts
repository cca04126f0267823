import { rmSync } from "node:fs";
import { join } from "node:path";
import { bundleCheckout } from "../../scripts/package/bundle.ts";
import { root } from "../../scripts/package/project.ts";
import { programDirectory } from "./support/service.ts";

/** Bundles the program once for all projects, before the first test: from its sources it takes twice the work to start. */
export async function setup(): Promise<(() => void) | undefined> {
  if (process.env[programDirectory] !== undefined) return undefined;
  const directory = join(root, `node_modules/.cache/test-program-${process.pid}`);
  await bundleCheckout(directory);
  process.env[programDirectory] = directory;
  return () => rmSync(directory, { recursive: true, force: true });
}
