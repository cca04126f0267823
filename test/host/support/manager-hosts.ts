import { makePackages, offer, type PacmanRecipe, pacmanFile, pacmanRepository } from "./pacman-host.ts";
import { makeRpmRepository, type RpmRecipe, rpmRepository } from "./rpm-host.ts";
import type { Session } from "./session.ts";

/** A package in the terms of every manager. Its configuration file `/etc/NAME/conf` has its version. */
export interface HostPackage {
  readonly name: string;
  readonly version: string;
  /** Lines of shell that run when it has been installed, brought up to date or brought back. */
  readonly script?: readonly string[];
  /** Text of files below `/usr`, by path. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A package manager as that of the booted host itself: packages, settings and units are the host's own. */
export interface HostManager {
  readonly name: "dnf" | "zypper" | "pacman";
  /** The package that an administrator's question for the manager itself finds. */
  readonly self: string;
  /** Programs of the managers that would be chosen before it. */
  readonly hidden: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  /** Builds packages into a repository with lists. */
  readonly build: (session: Session, packages: readonly HostPackage[]) => Promise<void>;
  readonly install: (wanted: readonly HostPackage[]) => string;
  readonly remove: (names: readonly string[]) => string;
  /** A line of shell that prints `NAME VERSION` of each package. */
  readonly list: string;
}

const shellOf = (script: readonly string[]): string => ["set -e", ...script].join("\n");

const toRpm = ({ name, version, script, files }: HostPackage): RpmRecipe => ({
  name,
  version,
  setting: `setting ${version}`,
  ...(script && { scripts: { "%post": `rpm.execute("/bin/sh", "-c", [[${shellOf(script)}]])` } }),
  ...(files && { files }),
});

const toPacman = ({ name, version, script, files }: HostPackage): PacmanRecipe => ({
  name,
  version,
  ...(script && { install: `post_install() {\n${shellOf(script)}\n}\npost_upgrade() {\npost_install\n}\n` }),
  ...(files && { files }),
});

const base = { gpgcheck: "0", name: "base", baseurl: `file://${rpmRepository}` } as const;
const sectionOf = (lines: Readonly<Record<string, string>>): string =>
  ["[base]", ...Object.entries(lines).map(([key, value]) => `${key}=${value}`), ""].join("\n");

const versioned = (wanted: readonly HostPackage[], between: string): string =>
  wanted.map(({ name, version }) => `${name}${between}${version}`).join(" ");

const ofRpm = {
  self: "rpm",
  build: (session: Session, packages: readonly HostPackage[]) => makeRpmRepository(session, packages.map(toRpm), []),
  list: `rpm -qa --queryformat '%{NAME} %{VERSION}\\n' | sort`,
} as const;

const pacmanCache = "/var/cache/pacman/pkg";

// Debian's rpm has its database at home.
const rpmMacros = { "/etc/rpm/macros": "%_dbpath /var/lib/rpm\n" };

export const hostManagers: readonly HostManager[] = [
  {
    ...ofRpm,
    name: "dnf",
    hidden: ["/usr/bin/apt-get"],
    settings: {
      ...rpmMacros,
      "/etc/dnf/dnf.conf": "[main]\n",
      // Debian's plugin makes up a repository of its own.
      "/etc/dnf/plugins/local.conf": "[main]\nenabled = false\n",
      "/etc/yum.repos.d/base.repo": sectionOf({ ...base, metadata_expire: "1d" }),
    },
    install: (wanted) => `dnf --assumeyes --quiet --refresh install ${versioned(wanted, "-")}`,
    remove: (names) => `dnf --assumeyes --quiet remove ${names.join(" ")}`,
  },
  {
    ...ofRpm,
    name: "zypper",
    hidden: ["/usr/bin/apt-get", "/usr/bin/dnf"],
    settings: {
      ...rpmMacros,
      // Packages that a host of the family has to have.
      "/etc/zypp/systemCheck": "",
      "/etc/zypp/repos.d/base.repo": sectionOf({ ...base, enabled: "1", autorefresh: "1" }),
    },
    install: (wanted) => `zypper --non-interactive --quiet install --oldpackage -- ${versioned(wanted, "=")}`,
    remove: (names) => `zypper --non-interactive --quiet --no-refresh remove -- ${names.join(" ")}`,
  },
  {
    name: "pacman",
    self: "pacman",
    hidden: ["/usr/bin/apt-get", "/usr/bin/dnf", "/usr/bin/zypper"],
    settings: {
      "/etc/pacman.conf": `[options]\nArchitecture = auto\nSigLevel = Never\n[core]\nServer = file://${pacmanRepository}\n`,
    },
    async build(session, packages) {
      await makePackages(session, packages.map(toPacman));
      // Its repositories have the newest version alone.
      await offer(session, [...new Map(packages.map((each) => [each.name, toPacman(each)])).values()]);
    },
    install(wanted) {
      const files = wanted.map((each) => pacmanFile(toPacman(each))).join(" ");
      return `mkdir -p ${pacmanCache} && cp ${files} ${pacmanCache} && pacman --noconfirm -U ${files}`;
    },
    remove: (names) => `pacman --noconfirm -R ${names.join(" ")}`,
    list: "pacman -Q | sed 's/-1$//' | sort",
  },
];
