import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { bundleProgram, directoryOfPackage, filesBeside, filesOfPackages, packagesIn } from "./bundle.ts";
import { bundleConsole } from "./console.ts";
import {
  conffiles,
  docDirectory,
  installedDirectories,
  installedFiles,
  installedLinks,
  libDirectory,
} from "./installed.ts";
import { configPage } from "./man.ts";
import type { ProgramNode } from "./node.ts";
import { manifest, root } from "./project.ts";
import { run, say } from "./run.ts";
import { makeSbom } from "./sbom.ts";
import { licenceText, readThirdParty } from "./third-party.ts";

export interface TreeOptions {
  readonly version: string;
  readonly epochSeconds: number;
  readonly node: ProgramNode;
}

const completions = {
  bash: "usr/share/bash-completion/completions/steward",
  zsh: "usr/share/zsh/vendor-completions/_steward",
  fish: "usr/share/fish/vendor_completions.d/steward.fish",
};

const dayOf = (epochSeconds: number): string => new Date(epochSeconds * 1000).toISOString().slice(0, 10);

/** Fills in what stands in double braces. */
export function filledIn(path: string, words: Readonly<Record<string, string>>): string {
  return readFileSync(join(root, path), "utf8").replaceAll(/\{\{(\w+)\}\}/g, (_, word: string) => {
    const value = words[word];
    if (value === undefined) throw new Error(`cannot fill in ${path}: nothing is known of ${word}`);
    return value;
  });
}

function write(tree: string, path: string, content: string | Buffer, mode = 0o644): void {
  const target = join(tree, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content);
  chmodSync(target, mode);
}

const compressed = (text: string): Buffer => gzipSync(text, { level: 9 });

/** Everything that runs but Node, and what it reads beside itself, in a directory. @returns the packages that it is made of. */
export async function writeProgram(
  directory: string,
  { version }: Pick<TreeOptions, "version">,
): Promise<readonly string[]> {
  say("bundling the program");
  const program = await bundleProgram(join(directory, "program"), version);
  const console = await bundleConsole(join(directory, "console"));
  const bundled = packagesIn({ outputs: { ...program.outputs, ...console.outputs } });
  // The version of the package is the version that the program reports.
  write(directory, "package.json", `${JSON.stringify({ name: manifest.name, version, type: "module" })}\n`);
  for (const [source, place] of Object.entries(filesBeside)) {
    const from = statSync(join(root, source), { throwIfNoEntry: false });
    if (from?.isDirectory()) cpSync(join(root, source), join(directory, place), { recursive: true });
  }
  for (const [name, files] of Object.entries(filesOfPackages)) {
    const from = directoryOfPackage(name);
    for (const file of files) write(directory, `node_modules/${name}/${file}`, readFileSync(join(from, file)));
  }
  write(directory, "main.js", readFileSync(join(root, "deploy/debian/main.js")), 0o755);
  return bundled;
}

/** The program and its Node. @returns the packages that it is made of. */
export async function installProgram(tree: string, options: TreeOptions): Promise<readonly string[]> {
  const bundled = await writeProgram(join(tree, libDirectory), options);
  say("adding Node");
  options.node.install(join(tree, libDirectory, "node"));
  return bundled;
}

/** What describes the program: man pages, completion, licences, what it is made of. */
function installDocs(tree: string, bundled: readonly string[], { version, epochSeconds, node }: TreeOptions): void {
  say("writing man pages, completion and licences");
  const date = dayOf(epochSeconds);
  const pages = join(tree, "usr/share/man/man1");
  mkdirSync(pages, { recursive: true });
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(epochSeconds) };
  run([process.execPath, join(root, "scripts/man-pages.ts"), pages], { cwd: root, env });
  for (const name of readdirSync(pages)) {
    const path = `usr/share/man/man1/${name}`;
    write(tree, `${path}.gz`, compressed(readFileSync(join(tree, path), "utf8")));
    rmSync(join(tree, path));
  }
  write(tree, "usr/share/man/man5/steward-config.5.gz", compressed(configPage(version, date)));
  const service = filledIn("deploy/debian/steward.service.8", { date, version });
  write(tree, "usr/share/man/man8/steward.service.8.gz", compressed(service));
  for (const unit of ["steward-task@.service", "steward-task.socket", "steward.socket", "steward-root.socket"])
    symlinkSync("steward.service.8.gz", join(tree, `usr/share/man/man8/${unit}.8.gz`));
  for (const [shell, path] of Object.entries(completions)) {
    write(tree, path, run([process.execPath, join(root, "src/main.ts"), "completion", shell], { cwd: root }));
  }

  const packages = [...readThirdParty(bundled), ...node.contents];
  const sbom = makeSbom({ version, packages, epochSeconds });
  write(tree, `${docDirectory}/sbom.json`, `${JSON.stringify(sbom, null, 2)}\n`);
  write(tree, `${docDirectory}/THIRD-PARTY.gz`, compressed(licenceText(packages)));
  write(tree, `${docDirectory}/copyright`, readFileSync(join(root, "deploy/debian/copyright")));
  write(tree, `${docDirectory}/CHANGELOG.md.gz`, compressed(readFileSync(join(root, "CHANGELOG.md"), "utf8")));
  const stamp = new Date(epochSeconds * 1000).toUTCString().replace("GMT", "+0000");
  const changes = `  * Changes are listed in /${docDirectory}/CHANGELOG.md.gz.`;
  const entry = `${manifest.name} (${version}) unstable; urgency=medium\n\n${changes}\n\n -- Steward developers <steward@example.org>  ${stamp}\n`;
  write(tree, `${docDirectory}/changelog.gz`, compressed(entry));
}

/** Modes as Debian has them, whatever the umask and the checkout: what may be run, and what is only read. */
function setModes(tree: string): void {
  for (const entry of readdirSync(tree, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    else if (entry.isFile()) chmodSync(path, (statSync(path).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
  chmodSync(tree, 0o755);
}

/** Puts together in `tree` what the package installs. */
export async function makeTree(tree: string, options: TreeOptions): Promise<void> {
  const bundled = await installProgram(tree, options);
  for (const { from, to, mode } of installedFiles) {
    const source = join(root, from);
    if (statSync(source).isDirectory()) cpSync(source, join(tree, to), { recursive: true });
    else write(tree, to, readFileSync(source), mode);
  }
  for (const directory of installedDirectories) mkdirSync(join(tree, directory), { recursive: true });
  for (const [path, target] of Object.entries(installedLinks)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    symlinkSync(target, join(tree, path));
  }
  installDocs(tree, bundled, options);
  setModes(tree);
  for (const path of conffiles) statSync(join(tree, path));
}
