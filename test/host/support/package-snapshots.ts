import type { PackageChange } from "#domain/ports/packages.ts";
import { driver } from "../program.ts";
import type { Session } from "./session.ts";

/** A package to be built; `files` and `conffiles` by path, `control` and `scripts` by name. */
export interface Package {
  readonly name: string;
  readonly version: string;
  readonly architecture?: string;
  readonly control?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly conffiles?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

/** Builds packages inside the host into a directory. */
export async function buildPackages(
  { host, shell }: Pick<Session, "host" | "shell">,
  directory: string,
  packages: readonly Package[],
): Promise<void> {
  for (const {
    name,
    version,
    architecture = "amd64",
    control = {},
    files = {},
    conffiles = {},
    scripts = {},
  } of packages) {
    const tree = `/root/build/${name}`;
    const fields = {
      Package: name,
      Version: version,
      Architecture: architecture,
      Maintainer: "Nobody <nobody@example.org>",
      Description: `${name} for a test`,
      ...control,
    };
    const text = Object.entries(fields).map(([key, value]) => `${key}: ${value}\n`);
    await host.writeFile(`${tree}/DEBIAN/control`, text.join(""));
    for (const [path, content] of Object.entries({ ...files, ...conffiles }))
      await host.writeFile(tree + path, content);
    for (const [kind, lines] of Object.entries(scripts)) {
      await host.writeFile(`${tree}/DEBIAN/${kind}`, `#!/bin/sh\nset -e\n${lines}\n`, 0o755);
    }
    const listed = Object.keys(conffiles);
    if (listed.length > 0) await host.writeFile(`${tree}/DEBIAN/conffiles`, `${listed.join("\n")}\n`);
    await shell(
      `mkdir -p ${directory} && dpkg-deb -Zgzip --root-owner-group --build ${tree} ${directory} && rm -r /root/build`,
    );
  }
}

/** Makes a directory of packages a repository, the only one that the host knows. */
export async function useRepository({ shell }: Pick<Session, "shell">, directory: string): Promise<void> {
  await shell(
    `cd ${directory} && apt-ftparchive packages . > Packages && rm -f /etc/apt/sources.list.d/* && ` +
      `echo 'deb [trusted=yes] file:${directory} ./' > /etc/apt/sources.list && apt-get -q update`,
  );
}

export interface Answer<T> {
  readonly result?: T;
  readonly error?: string;
  readonly lines: readonly string[];
}

/** Works with package snapshots inside the host. */
export async function snapshots<T = unknown>(
  { host }: Pick<Session, "host">,
  given: {
    readonly directory: string;
    readonly verb: string;
    readonly id?: string;
    readonly changes?: readonly PackageChange[];
  },
): Promise<Answer<T>> {
  const { directory, verb, id = "", changes = [] } = given;
  const argv = [...driver("run-snapshots"), directory, verb, id, JSON.stringify({ changes })];
  return JSON.parse((await host.exec(argv, { timeoutMs: 120_000 })).stdout) as Answer<T>;
}

/** Begins a rollback and kills the process that does it, and no other, after so many milliseconds. */
export async function killedRollback(
  { host }: Pick<Session, "host">,
  given: { readonly directory: string; readonly id: string; readonly afterMs: number },
): Promise<void> {
  const argv = ["timeout", "--foreground", "--signal=KILL", String(given.afterMs / 1000), ...driver("run-snapshots")];
  await host.exec([...argv, given.directory, "rollback", given.id], { allowFailure: true });
}
