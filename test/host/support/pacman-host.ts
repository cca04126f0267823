import { createPackageWork } from "./package-work.ts";
import type { Session } from "./session.ts";

/** A tree on the Debian host with packages of its own, and the repository that it knows. */
export const pacmanRoot = "/srv/pacmanhost";
export const pacmanRepository = "/srv/pacman-repository";

/** A package to be built. It has a file and a configuration file. */
export interface PacmanRecipe {
  readonly name: string;
  readonly version: string;
  readonly depend?: readonly string[];
  readonly replaces?: readonly string[];
  readonly conflict?: readonly string[];
  readonly provides?: readonly string[];
  readonly optdepend?: readonly string[];
  /** What it is, in one line. */
  readonly summary?: string;
  /** Functions of the shell such as `post_upgrade`. */
  readonly install?: string;
  /** Text of its configuration file. */
  readonly setting?: string;
  /** Text of further files below `/usr`, by path. */
  readonly files?: Readonly<Record<string, string>>;
}

type Shell = Pick<Session, "host" | "shell">;

const wholeName = ({ name, version }: PacmanRecipe): string => `${name}-${version}-1`;

/** The file of a package in the repository. */
export const pacmanFile = (recipe: PacmanRecipe): string => `${pacmanRepository}/${wholeName(recipe)}-any.pkg.tar.gz`;

const relations = ["depend", "replaces", "conflict", "provides", "optdepend"] as const;

const summaryOf = ({ summary = "made for a test" }: PacmanRecipe): string => summary;

function infoOf(recipe: PacmanRecipe): string {
  const { name, version } = recipe;
  const lines = [
    `pkgname = ${name}`,
    `pkgver = ${version}-1`,
    `pkgdesc = ${summaryOf(recipe)}`,
    `url = https://${name}.example/`,
    "arch = any",
    "size = 4096",
    "builddate = 1700000000",
    "packager = nobody",
    `backup = etc/${name}/conf`,
    ...relations.flatMap((relation) => (recipe[relation] ?? []).map((each) => `${relation} = ${each}`)),
  ];
  return `${lines.join("\n")}\n`;
}

/** Builds packages into the repository; its list says nothing of them yet. */
export async function makePackages({ host, shell }: Shell, recipes: readonly PacmanRecipe[]): Promise<void> {
  await shell(`mkdir -p ${pacmanRepository}`);
  for (const recipe of recipes) {
    const { name, version, install, setting = `setting ${version}`, files = {} } = recipe;
    const directory = `/root/pacman/${wholeName(recipe)}`;
    await host.writeFile(`${directory}/.PKGINFO`, infoOf(recipe));
    await host.writeFile(`${directory}/usr/share/${name}/version`, `${version}\n`);
    await host.writeFile(`${directory}/etc/${name}/conf`, `${setting}\n`);
    for (const [path, text] of Object.entries(files)) await host.writeFile(directory + path, text);
    if (install !== undefined) await host.writeFile(`${directory}/.INSTALL`, install);
    const members = [".PKGINFO", ...(install === undefined ? [] : [".INSTALL"]), "usr", "etc"];
    await shell(`tar --create --gzip --file=${pacmanFile(recipe)} --directory=${directory} ${members.join(" ")}`);
  }
}

const fieldOf = (field: string, values: readonly string[]): string =>
  values.length === 0 ? "" : `%${field}%\n${values.join("\n")}\n\n`;

/** Writes the list of the repository again, with just these. Its time is a new one, by which pacman knows that it has changed. */
export async function offer({ host, shell }: Shell, recipes: readonly PacmanRecipe[]): Promise<void> {
  const directory = "/root/pacman-list";
  await shell(`rm -rf ${directory} && mkdir ${directory}`);
  for (const recipe of recipes) {
    const file = pacmanFile(recipe);
    const [bytes = "", hash = ""] = (await shell(`stat -c %s ${file}; sha256sum ${file}`)).split(/\s+/);
    const fields = [
      ["FILENAME", [file.replace(/^.*\//, "")]],
      ["NAME", [recipe.name]],
      ["VERSION", [`${recipe.version}-1`]],
      ["DESC", [summaryOf(recipe)]],
      ["CSIZE", [bytes]],
      ["ISIZE", ["4096"]],
      ["SHA256SUM", [hash]],
      ["URL", [`https://${recipe.name}.example/`]],
      ["ARCH", ["any"]],
      ["PACKAGER", ["nobody"]],
      ["REPLACES", recipe.replaces ?? []],
      ["CONFLICTS", recipe.conflict ?? []],
      ["PROVIDES", recipe.provides ?? []],
      ["DEPENDS", recipe.depend ?? []],
      ["OPTDEPENDS", recipe.optdepend ?? []],
    ] as const;
    const text = fields.map(([field, values]) => fieldOf(field, values)).join("");
    await host.writeFile(`${directory}/${wholeName(recipe)}/desc`, text);
  }
  const list = `${pacmanRepository}/core.db`;
  offered += 1;
  await shell(
    `cd ${directory} && tar --create --gzip --file=${list} -- * && touch --date=@${firstList + offered} ${list}`,
  );
}

/** Lists follow each other faster than the clock of a server counts. */
const firstList = 1_700_000_000;
let offered = 0;

/** Makes the tree: it has no packages yet, but a shell, which the scripts of packages need. */
export async function makePacmanRoot({ host, shell }: Shell): Promise<void> {
  const directories = ["var/lib/pacman/local", "var/cache/pacman/pkg", "var/log", "bin", "usr/bin", "tmp"];
  await shell(`mkdir -p ${directories.map((directory) => `${pacmanRoot}/${directory}`).join(" ")}`);
  await shell(
    `cp /bin/bash ${pacmanRoot}/bin/sh && cp /bin/bash ${pacmanRoot}/bin/bash && cp /bin/sleep ${pacmanRoot}/usr/bin/`,
  );
  await shell(
    `ldd /bin/bash /bin/sleep | grep -o '/lib[^ ]*' | sort -u | while read path; do mkdir -p ${pacmanRoot}$(dirname $path); cp $path ${pacmanRoot}$path; done`,
  );
  await hold({ host }, "");
}

/** Writes its settings; `IgnorePkg = …` holds packages. */
export async function hold({ host }: Pick<Session, "host">, line: string): Promise<void> {
  const server = ["[core]", `Server = file://${pacmanRepository}`];
  const lines = ["[options]", "Architecture = auto", "SigLevel = Never", line, ...server];
  await host.writeFile(`${pacmanRoot}/etc/pacman.conf`, `${lines.join("\n")}\n`);
}

const below = (path: string): string => `${pacmanRoot}/${path}`;

/** Pacman as an administrator uses it in the tree. */
export const pacmanWords = [
  ...["pacman", "--root", pacmanRoot, "--dbpath", below("var/lib/pacman"), "--config", below("etc/pacman.conf")],
  ...["--cachedir", below("var/cache/pacman/pkg"), "--logfile", below("var/log/pacman.log"), "--noconfirm"],
] as const;

/** The adapter of pacman on the tree. */
export const pacmanAdapter = createPackageWork("pacman", pacmanRoot);
export const { command: pacmanCommand, work: pacman } = pacmanAdapter;
