import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./project.ts";

/** A package that the program is made of. */
export interface ThirdParty {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** Licence, notice and the like, as the package has them. */
  readonly texts: readonly string[];
  /** Where it is from, unless from the registry of the lockfile. */
  readonly purl?: string;
}

interface PackageManifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string | { readonly type: string };
}

const isLegal = (name: string): boolean => /^(licen[cs]e|copying|notice|authors)/i.test(name);

/** Reads what installed packages say of themselves. `directories` are below the project. */
export function readThirdParty(directories: readonly string[]): readonly ThirdParty[] {
  const all = directories.map((directory): ThirdParty => {
    const path = join(root, directory);
    const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as PackageManifest;
    const texts = readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isFile() && isLegal(entry.name))
      .map((entry) => entry.name)
      .sort()
      .map((file) => readFileSync(join(path, file), "utf8").trim());
    const licence = typeof license === "object" ? license.type : license;
    if (licence === undefined && texts.length === 0)
      throw new Error(`cannot ship ${name} ${version}: it names no licence`);
    return { name, version, licence: licence ?? "see its text", texts };
  });
  const unique = new Map(all.map((each) => [`${each.name}@${each.version}`, each]));
  return [...unique.keys()].sort().flatMap((key) => unique.get(key) ?? []);
}

const line = "=".repeat(78);

/** One text with the licences of all of them. */
export function licenceText(packages: readonly ThirdParty[]): string {
  const intro = "Steward contains the software below, each under its own licence.\n";
  const parts = packages.map(({ name, version, licence, texts }) =>
    [
      line,
      `${name} ${version}`,
      `Licence: ${licence}`,
      line,
      ...(texts.length > 0 ? texts : ["(no text beside its name)"]),
    ].join("\n\n"),
  );
  return `${[intro, ...parts].join("\n\n")}\n`;
}

/** The directory of the Node that the lockfile pins for this machine, below the project. */
export function nodeDirectory(): string {
  const directory = join("node_modules", `node-linux-${process.arch}`);
  if (!existsSync(join(root, directory, "bin/node"))) {
    throw new Error(`cannot package for ${process.arch}: there is no pinned Node for it (x64 and arm64 have one)`);
  }
  return directory;
}
