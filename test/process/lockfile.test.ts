import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runProgram } from "./support/program.ts";
import { root } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
let registry: Server;
let url: string;
let checksum: string;

/** A registry of one package. */
beforeAll(async () => {
  const directory = workspace.path("made/package");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "package.json"), '{"name":"other-platform","version":"1.0.0"}');
  const tarball = workspace.path("other-platform.tgz");
  execFileSync("tar", ["-czf", tarball, "-C", workspace.path("made"), "package"]);
  const content = readFileSync(tarball);
  checksum = `sha512-${createHash("sha512").update(content).digest("base64")}`;
  registry = createServer((request, response) => {
    if (request.url?.endsWith(".tgz")) return response.end(content);
    const dist = { tarball: `${url}/other-platform/-/other-platform-1.0.0.tgz`, integrity: checksum };
    const versions = { "1.0.0": { name: "other-platform", version: "1.0.0", dist } };
    return response.end(JSON.stringify({ name: "other-platform", "dist-tags": { latest: "1.0.0" }, versions }));
  });
  await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
  const address = registry.address();
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
});
afterAll(async () => {
  registry.close();
  await workspace.dispose();
});

const { packages: locked } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  packages: Record<string, { integrity?: string; os?: string[] }>;
};
const ofNoFile = Object.values(locked).find(({ integrity }) => integrity?.includes("AAAAAAAAAAAA"))?.integrity ?? "";

/** Whether npm installs the package when the lockfile says this of its checksum. */
async function installs(name: string, integrity: string | undefined): Promise<boolean> {
  const directory = workspace.path(name);
  mkdirSync(directory);
  const own = { name: "own", version: "1.0.0", optionalDependencies: { "other-platform": "1.0.0" } };
  writeFileSync(join(directory, "package.json"), JSON.stringify(own));
  const other = { version: "1.0.0", optional: true, ...(integrity !== undefined && { integrity }) };
  const lock = { ...own, lockfileVersion: 3, packages: { "": own, "node_modules/other-platform": other } };
  writeFileSync(join(directory, "package-lock.json"), JSON.stringify(lock));
  const options = [
    "--registry",
    url,
    "--cache",
    workspace.path("cache"),
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
  ];
  const { code, stderr } = await runProgram(workspace, ["npm", "ci", "--prefix", directory, ...options]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return existsSync(join(directory, "node_modules/other-platform"));
}

it("the lockfile's checksum of no file keeps npm from installing a package, which it would install with none", async () => {
  expect(ofNoFile).not.toBe("");
  expect(await installs("right", checksum)).toBe(true);
  expect(await installs("none", undefined)).toBe(true);
  expect(await installs("of-no-file", ofNoFile)).toBe(false);
});
