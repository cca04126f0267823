import { rmSync } from "node:fs";
import { join } from "node:path";
import { bundleCheckout } from "../../scripts/package/bundle.ts";
import { root } from "../../scripts/package/project.ts";
import { programFolder } from "./support/service.ts";

/** Bundles the program once for all projects, before the first test: from its sources it takes twice the work to start. */
export async function setup(): Promise<(() => void) | undefined> {
  if (process.env[programFolder] !== undefined) return undefined;
  const folder = join(root, `node_modules/.cache/test-program-${process.pid}`);
  await bundleCheckout(folder);
  process.env[programFolder] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
