import { createPackageWork } from "./package-work.ts";
import type { Session } from "./session.ts";

/** A tree on the Debian host with packages of its own, and the repository that it knows. */
export const rpmRoot = "/srv/rpmhost";
export const rpmRepository = "/srv/rpm-repository";

/** A package to be built. It has a file and a configuration file. */
export interface RpmRecipe {
  readonly name: string;
  readonly version: string;
  readonly epoch?: number;
  /** Further lines of its header. */
  readonly header?: readonly string[];
  /** Whether several versions may be installed beside each other, as of a kernel. */
  readonly isSideBySide?: boolean;
  /** Scripts by name, such as `%post`, in Lua: the tree has no shell. */
  readonly scripts?: Readonly<Record<string, string>>;
  /** Text of its configuration file. */
  readonly setting?: string;
  /** Text of further files by path. */
  readonly files?: Readonly<Record<string, string>>;
}

/** The file of a package in the repository. */
export const rpmFile = (name: string, version: string): string =>
  `${rpmRepository}/noarch/${name}-${version}-1.noarch.rpm`;

const fileName = ({ name, version }: RpmRecipe): string => `${name}-${version}-1.noarch.rpm`;

/** Where the further files of a package are before it is built. */
const filesOf = ({ name, version }: RpmRecipe): string => `/root/specs/${name}-${version}.files`;

/** What rpmbuild is given. */
function specOf(recipe: RpmRecipe): string {
  const { name, version, epoch, header = [], isSideBySide = false, scripts = {}, files = {} } = recipe;
  const directory = isSideBySide ? `${name}-${version}` : name;
  const lines = [
    `Name: ${name}`,
    `Version: ${version}`,
    "Release: 1",
    "Summary: made for a test",
    "License: none",
    "BuildArch: noarch",
    ...(epoch === undefined ? [] : [`Epoch: ${epoch}`]),
    ...(isSideBySide ? ["Provides: installonlypkg(kernel)"] : []),
    ...header,
    "%description",
    "Made for a test.",
    "%install",
    `mkdir -p %{buildroot}/usr/share/${directory} %{buildroot}/etc/${directory}`,
    `echo ${version} > %{buildroot}/usr/share/${directory}/version`,
    `echo ${recipe.setting ?? "setting"} > %{buildroot}/etc/${directory}/conf`,
    ...(recipe.files === undefined ? [] : [`cp -r ${filesOf(recipe)}/. %{buildroot}/`]),
    "%files",
    ...Object.keys(files),
    `/usr/share/${directory}/version`,
    `%config(noreplace) /etc/${directory}/conf`,
    ...Object.entries(scripts).flatMap(([kind, lua]) => [`${kind} -p <lua>`, lua]),
  ];
  return `${lines.join("\n")}\n`;
}

/** A security advisory for one version of one package. */
export interface Advisory {
  readonly id: string;
  readonly name: string;
  readonly version: string;
}

const advisoryOf = ({ id, name, version }: Advisory): string =>
  [
    `<update from="nobody@example.org" status="final" type="security" version="1"><id>${id}</id><title>${name}</title>`,
    '<issued date="2026-01-02 00:00:00"/><severity>Important</severity><description>made for a test</description>',
    '<pkglist><collection short="test"><name>test</name>',
    `<package name="${name}" version="${version}" release="1" epoch="0" arch="noarch" src="${name}.src.rpm">`,
    `<filename>${fileName({ name, version })}</filename></package></collection></pkglist></update>`,
  ].join("");

/** Builds packages into the repository and writes its lists again. */
export async function makeRpmRepository(
  { host, shell }: Pick<Session, "host" | "shell">,
  recipes: readonly RpmRecipe[],
  advisories: readonly Advisory[],
): Promise<void> {
  for (const recipe of recipes) {
    const spec = `/root/specs/${recipe.name}-${recipe.version}.spec`;
    await host.writeFile(spec, specOf(recipe));
    for (const [path, text] of Object.entries(recipe.files ?? {})) await host.writeFile(filesOf(recipe) + path, text);
    const options = `--define '_rpmdir ${rpmRepository}' --define '_topdir /root/rpmbuild' --define '_binary_payload w1.gzdio'`;
    await shell(`rpmbuild -bb --quiet ${options} ${spec} 2>/root/specs/log || { cat /root/specs/log >&2; exit 1; }`);
  }
  const updates = advisories.map(advisoryOf).join("\n");
  await host.writeFile("/root/updateinfo.xml", `<?xml version="1.0"?>\n<updates>\n${updates}\n</updates>\n`);
  await shell(`createrepo_c --quiet ${rpmRepository}`);
  await shell(`modifyrepo_c --mdtype=updateinfo /root/updateinfo.xml ${rpmRepository}/repodata`);
}

/** Makes the tree: it has no packages yet. */
export async function makeRpmRoot({ host, shell }: Pick<Session, "host" | "shell">): Promise<void> {
  // Debian's rpm has its database at home.
  await host.writeFile("/etc/rpm/macros", "%_dbpath /var/lib/rpm\n");
  // A repository of its own that Debian's plugin makes up.
  await shell("sed -i 's/^enabled = true$/enabled = false/' /etc/dnf/plugins/local.conf");
  await shell(": > /etc/dnf/plugins/versionlock.list");
  await host.writeFile(`${rpmRoot}/etc/dnf/dnf.conf`, "[main]\ninstallonly_limit=2\n");
  const repository = ["[base]", "name=base", `baseurl=file://${rpmRepository}`, "gpgcheck=0", "metadata_expire=1d"];
  await host.writeFile(`${rpmRoot}/etc/yum.repos.d/base.repo`, `${repository.join("\n")}\n`);
}

/** Dnf as an administrator uses it in the tree. */
export const dnfWords = ["dnf", `--installroot=${rpmRoot}`, "--releasever=9", "--assumeyes", "--quiet"] as const;

/** The same with dnf5. */
export const dnf5Words = ["dnf5", ...dnfWords.slice(1)] as const;

/** The adapter of dnf on the tree. */
export const dnfAdapter = createPackageWork("dnf", rpmRoot);
/** The adapter of dnf5 on the tree. */
export const dnf5Adapter = createPackageWork("dnf5", rpmRoot);
