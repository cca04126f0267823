import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The directory of the project. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly engines: { readonly node: string };
}

/** What package.json says of the project. */
export const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
