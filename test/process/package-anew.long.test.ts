import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { buildDeb, ensureDeb, missingForPackages } from "../host/support/deb.ts";
import { createWorkspace } from "./support/workspace.ts";

const version = "0.1.0";
const missing = missingForPackages();
if (missing !== undefined) process.stdout.write(`skipped: the package: ${missing}\n`);

const workspace = createWorkspace();
afterAll(workspace.dispose);

const digest = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

describe.skipIf(missing !== undefined)("the package", () => {
  it("has the same bytes whenever and wherever it is built", { timeout: 600_000 }, async () => {
    const folder = await ensureDeb(version);
    const [name = ""] = readdirSync(folder);
    expect(digest(await buildDeb(version, workspace.path("again")))).toBe(digest(join(folder, name)));
  });
});
