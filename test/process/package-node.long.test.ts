import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sbom } from "../../scripts/package/sbom.ts";
import { runCommand } from "../host/commands.ts";
import { buildDeb, missingForPackages } from "../host/support/deb.ts";
import { createWorkspace } from "./support/workspace.ts";

const version = "0.1.0";
const buildMs = 600_000;
const missingGpg = ["/usr/bin/gpg", "/usr/bin/gpgv"].filter((path) => !existsSync(path));
const missing =
  missingForPackages() ?? (missingGpg.length > 0 ? `missing: gpg, gpgv (apt-get install gpg gpgv)` : undefined);
if (missing !== undefined) {
  if (process.env["CI"] === "true") throw new Error(`cannot build packages: ${missing}`);
  process.stdout.write(`skipped: the Node of the package: ${missing}\n`);
}

describe.skipIf(missing !== undefined)("the Node runtime of the package", { timeout: buildMs }, () => {
  const workspace = createWorkspace();
  const top = `node-v${process.versions.node}-linux-${process.arch}`;
  const archive = workspace.path(`${top}.tar.gz`);
  const [sums, keyring] = [workspace.path("SHASUMS256.txt.asc"), workspace.path("keyring.gpg")];
  let made = 0;

  const gpg = (...argv: readonly string[]) =>
    runCommand(["gpg", "--homedir", workspace.path("gpg"), "--batch", "--quiet", "--yes", ...argv]);
  const sha256 = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
  /** Sums as the makers publish them, with the signature around. */
  async function sign(who: string, text: string): Promise<void> {
    const path = workspace.path("SHASUMS256.txt");
    writeFileSync(path, text);
    await gpg("--local-user", who, "--output", sums, "--clearsign", path);
  }
  /** What is in a package that was built with these options. */
  async function build(...options: readonly string[]): Promise<string> {
    made += 1;
    const tree = workspace.path(`tree-${made}`);
    const deb = await buildDeb(version, workspace.path(`out-${made}`), options);
    mkdirSync(tree);
    await runCommand(["dpkg-deb", "--raw-extract", deb, tree], { timeoutMs: buildMs });
    return tree;
  }
  const release = ["--node-release", archive, "--node-sums", sums, "--node-keyring", keyring];
  const componentsOf = (tree: string): readonly string[] => {
    const sbom = JSON.parse(readFileSync(join(tree, "usr/share/doc/steward/sbom.json"), "utf8")) as Sbom;
    return sbom.components.map(({ name }) => name).filter((name) => /^node(-linux-.*)?$/.test(name));
  };

  beforeAll(async () => {
    // A release is what the makers pack: here the Node of the checkout, signed by keys of the test.
    mkdirSync(workspace.path(join(top, "bin")), { recursive: true });
    cpSync(process.execPath, workspace.path(join(top, "bin/node")));
    writeFileSync(workspace.path(join(top, "LICENSE")), "the licence of Node\n");
    await runCommand(["tar", "--create", "--gzip", `--file=${archive}`, `--directory=${workspace.path()}`, top]);
    rmSync(workspace.path(top), { recursive: true });
    mkdirSync(workspace.path("gpg"), { mode: 0o700 });
    for (const who of ["maker", "stranger"])
      await gpg("--passphrase", "", "--quick-generate-key", `${who} <${who}@example.org>`, "ed25519", "sign", "never");
    await gpg("--output", keyring, "--export", "maker");
  }, buildMs);
  afterAll(async () => {
    await runCommand(["gpgconf", "--homedir", workspace.path("gpg"), "--kill", "all"]);
    await workspace.dispose();
  });

  it("is that of the host with --system-node", async () => {
    const tree = await build("--system-node");
    const node = join(tree, "usr/lib/steward/node");
    expect(lstatSync(node).isSymbolicLink()).toBe(true);
    expect(readlinkSync(node)).toBe("../../bin/node");
    const control = readFileSync(join(tree, "DEBIAN/control"), "utf8");
    expect(control).toMatch(/^Depends: .*\bnodejs \(>= 22\.15\)/m);
    expect(control).not.toContain("libstdc++6");
    expect(componentsOf(tree)).toEqual([]);
  });

  it("is a release with a valid signature", async () => {
    await sign("maker", `${"0".repeat(64)}  node-v1.0.0.tar.gz\n${sha256(archive)}  ${top}.tar.gz\n`);
    const tree = await build(...release);
    const node = join(tree, "usr/lib/steward/node");
    expect(statSync(node).mode & 0o777).toBe(0o755);
    expect((await runCommand([node, "--version"])).stdout).toBe(`${process.version}\n`);
    expect(componentsOf(tree)).toEqual(["node"]);
    const licences = await runCommand(["zcat", join(tree, "usr/share/doc/steward/THIRD-PARTY.gz")]);
    expect(licences.stdout).toContain("the licence of Node");
  });

  it.each<[string, () => Promise<void>, RegExp]>([
    ["that somebody else signed", () => sign("stranger", `${sha256(archive)}  ${top}.tar.gz\n`), /cannot run gpgv/],
    [
      "whose sums were changed",
      async () => {
        await sign("maker", `${"0".repeat(64)}  ${top}.tar.gz\n`);
        writeFileSync(sums, readFileSync(sums, "utf8").replace("0".repeat(64), sha256(archive)));
      },
      /cannot run gpgv/,
    ],
    ["of another sum", () => sign("maker", `${"0".repeat(64)}  ${top}.tar.gz\n`), /its SHA-256 is/],
    ["that is not listed", () => sign("maker", `${sha256(archive)}  other-${top}.tar.gz\n`), /does not list it/],
  ])("is refused where it is a release %s", async (_, prepare, reason) => {
    await prepare();
    await expect(build(...release)).rejects.toThrow(reason);
  });

  it("is refused where it is named twice or without its sums", async () => {
    await expect(build("--system-node", ...release)).rejects.toThrow("choose --system-node or --node-release");
    await expect(build("--node-release", archive)).rejects.toThrow("are given together");
  });
});
