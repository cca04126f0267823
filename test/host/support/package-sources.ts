import type { Host } from "../host.ts";

/** What of a host this needs. */
interface Builder {
  readonly host: Pick<Host, "exec" | "writeFile">;
  readonly shell: (line: string) => Promise<string>;
}

/** A package to be built. */
export interface PackageRecipe {
  readonly name: string;
  readonly version: string;
  /** `main` and `security` are sources of the host; `loose` is a directory that no source names. */
  readonly place: "main" | "security" | "loose";
  /** Further lines of its control file. */
  readonly control?: readonly string[];
  /** Lines of its scripts that run before it is unpacked, when it is set up, before its files go, and after that. */
  readonly preinst?: readonly string[];
  readonly postinst?: readonly string[];
  readonly prerm?: readonly string[];
  readonly postrm?: readonly string[];
  /** Lines of its unit files by their names. */
  readonly units?: Readonly<Record<string, readonly string[]>>;
  /** Text of its configuration file, `/etc/NAME.conf`. */
  readonly config?: string;
  /** Of a file beside the others that cannot be packed any smaller. */
  readonly payloadBytes?: number;
}

/** A package of the main source, unless it is said otherwise. */
export const at = (name: string, version: string, rest: Partial<PackageRecipe> = {}): PackageRecipe => ({
  name,
  version,
  place: "main",
  ...rest,
});

const sourcesDirectory = "/srv/packages";

export const packageFile = ({ name, version, place }: PackageRecipe): string =>
  `${sourcesDirectory}/${place}/${name}_${version}_all.deb`;

/** Builds a package into the directory of its source. */
export async function buildPackage({ host }: Pick<Builder, "host">, recipe: PackageRecipe): Promise<void> {
  const { name, version, control = [] } = recipe;
  const directory = `/tmp/build/${name}-${version}`;
  const fields = [
    `Package: ${name}`,
    `Version: ${version}`,
    "Architecture: all",
    "Maintainer: Nobody <nobody@example.org>",
    ...control,
    "Description: made for a test",
  ];
  await host.writeFile(`${directory}/DEBIAN/control`, `${fields.join("\n")}\n`);
  await host.writeFile(`${directory}/usr/share/${name}/version`, `${version}\n`);
  const { payloadBytes, config } = recipe;
  if (config !== undefined) {
    await host.writeFile(`${directory}/etc/${name}.conf`, config, 0o644);
    await host.writeFile(`${directory}/DEBIAN/conffiles`, `/etc/${name}.conf\n`);
  }
  if (payloadBytes !== undefined)
    await host.exec(["sh", "-c", `head -c ${payloadBytes} /dev/urandom > ${directory}/usr/share/${name}/payload`]);
  for (const [unit, lines] of Object.entries(recipe.units ?? {}))
    await host.writeFile(`${directory}/usr/lib/systemd/system/${unit}`, `${lines.join("\n")}\n`, 0o644);
  for (const script of ["preinst", "postinst", "prerm", "postrm"] as const) {
    const lines = recipe[script];
    if (lines === undefined) continue;
    await host.writeFile(`${directory}/DEBIAN/${script}`, `#!/bin/sh\nset -e\n${lines.join("\n")}\n`, 0o755);
  }
  await host.exec(["mkdir", "-p", `${sourcesDirectory}/${recipe.place}`]);
  await host.exec(["dpkg-deb", "--root-owner-group", "--build", directory, packageFile(recipe)]);
}

const suites = {
  main: { suite: "stable", label: "Test" },
  security: { suite: "stable-security", label: "Debian-Security" },
} as const;

/** Builds packages and the two sources, makes them the only ones of the host, and reads their lists. */
export async function makePackageSources(session: Builder, recipes: readonly PackageRecipe[]): Promise<void> {
  for (const recipe of recipes) await buildPackage(session, recipe);
  for (const [place, { suite, label }] of Object.entries(suites)) {
    const directory = `${sourcesDirectory}/${place}`;
    const option = (name: string, value: string): string => `-o APT::FTPArchive::Release::${name}=${value}`;
    const options = [
      option("Origin", "Debian"),
      option("Label", label),
      option("Suite", suite),
      option("Codename", suite),
    ];
    await session.shell(`mkdir -p ${directory} && cd ${directory} && apt-ftparchive packages . > Packages`);
    await session.shell(
      `cd ${directory} && apt-ftparchive ${options.join(" ")} release . > /tmp/Release && mv /tmp/Release .`,
    );
  }
  await session.shell("rm -rf /etc/apt/sources.list.d/*");
  const lines = Object.keys(suites).map((place) => `deb [trusted=yes] file:${sourcesDirectory}/${place} ./\n`);
  await session.host.writeFile("/etc/apt/sources.list", lines.join(""));
  // Apt would try what is gone again after 1, 2 and 4 seconds.
  await session.host.writeFile("/etc/apt/apt.conf.d/99-no-retries", 'Acquire::Retries "0";\n');
  await session.host.exec(["apt-get", "--quiet", "update"]);
}

/**
 * Builds many packages at once, `many-0` and on, each as versions 1:1.0 and 1:1.1, into the directory of the main source: by one program,
 * since each call into the guest takes longer than a package does.
 * @param payloadBytes of a file that is another one in each.
 */
export async function buildMany({ host, shell }: Builder, count: number, payloadBytes = 0): Promise<void> {
  const build = `import os, subprocess
os.makedirs("${sourcesDirectory}/main", exist_ok=True)
for name in ["many-%d" % at for at in range(${count})]:
    for version in ["1:1.0", "1:1.1"]:
        top = "/tmp/many/" + name
        os.makedirs(top + "/DEBIAN", exist_ok=True)
        with open(top + "/DEBIAN/control", "w") as control:
            control.write("Package: %s\\nVersion: %s\\nArchitecture: all\\nMaintainer: Nobody <nobody@example.org>\\nDescription: made for a test\\n" % (name, version))
        if ${payloadBytes} > 0:
            os.makedirs(top + "/usr/share/" + name, exist_ok=True)
            with open(top + "/usr/share/" + name + "/payload", "wb") as payload:
                payload.write(os.urandom(${payloadBytes}))
        file = "${sourcesDirectory}/main/%s_%s_all.deb" % (name, version.replace("1:", ""))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", top, file], check=True, stdout=subprocess.DEVNULL)
`;
  await host.writeFile("/opt/build.py", build);
  await shell("python3 /opt/build.py && rm -r /tmp/many");
}

/** Of the kept package files of a host how many came from where, as `uniq -c` counts them. */
export async function keptOrigins({ shell }: Pick<Builder, "shell">): Promise<readonly string[]> {
  const directory = "/var/lib/steward-tasks/snapshots/packages";
  return (await shell(`grep -ho '"origin":"[a-z]*"' ${directory}/many-* | sort | uniq -c`)).trim().split(/\s*\n\s*/);
}
