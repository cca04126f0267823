import type {
  FoundPackage,
  LoggedTransaction,
  PackageCatalog,
  RequiringPackage,
} from "#domain/ports/package-catalog.ts";
import type { InstalledPackage } from "#domain/ports/packages.ts";

/** Packages in memory. */
export interface FakePackageCatalog extends PackageCatalog {
  /** What is in the lists, by name, with what is known beside. */
  readonly listed: Map<string, FakeListed>;
  /** Newest first. */
  logged: readonly LoggedTransaction[];
  /** Why there is no log of what was done; undefined: there is one. */
  historyAbsence: string | undefined;
  /** Why the lists cannot be read; undefined where they can. */
  trouble: Error | undefined;
}

type FakeListed = FoundPackage & {
  readonly description: string;
  readonly requiring: readonly RequiringPackage[];
  readonly files: readonly string[];
};

export const fakeListed = (name: string, rest: Partial<FakeListed> = {}): FakeListed => ({
  name,
  architecture: "amd64",
  version: "1.0",
  section: "misc",
  summary: `the ${name} of a test`,
  installedBytes: 2048,
  downloadBytes: 1024,
  description: "",
  requiring: [],
  files: [`/usr/bin/${name}`],
  ...rest,
});

export const fakeLogged = (name: string, rest: Partial<LoggedTransaction> = {}): LoggedTransaction => ({
  startedAt: Date.parse("2026-01-01T00:00:00Z"),
  endedAt: Date.parse("2026-01-01T00:00:05Z"),
  commandLine: `apt-get install ${name}`,
  requestedBy: undefined,
  error: undefined,
  packages: [{ name, architecture: "amd64", action: "install", from: undefined, to: "1.0", isAutomatic: false }],
  ...rest,
});

export function createFakePackageCatalog(installed: () => readonly InstalledPackage[]): FakePackageCatalog {
  const listed: FakePackageCatalog["listed"] = new Map();
  const all = (): readonly FakeListed[] => [
    ...listed.values(),
    ...installed().flatMap(({ name, version }) => (listed.has(name) ? [] : [fakeListed(name, { version })])),
  ];
  const fake: FakePackageCatalog = {
    listed,
    logged: [],
    historyAbsence: undefined,
    trouble: undefined,
    async search(words) {
      await Promise.resolve();
      if (fake.trouble !== undefined) throw fake.trouble;
      const found = all().filter(({ name, summary, description }) =>
        words.every((word) => `${name}\n${summary}\n${description}`.toLowerCase().includes(word.toLowerCase())),
      );
      return {
        names: found.map(({ name }) => name),
        read: (at) => found[at] ?? fakeListed("nothing"),
        version: JSON.stringify([[...listed.values()], installed()]),
      };
    },
    async show(name) {
      await Promise.resolve();
      const found = all().find((each) => each.name === name);
      const present = installed().find((each) => each.name === name);
      if (found === undefined) return undefined;
      const origin = { location: "memory", origin: "Test", suite: "stable", component: "main" };
      return {
        ...found,
        installed: present && { ...present, state: "installed" },
        candidate: found.version,
        versions: [{ version: found.version, origins: listed.has(name) ? [origin] : [] }],
        priority: "optional",
        maintainer: "Nobody <nobody@example.org>",
        homepage: "",
        depends: [],
        provides: [],
        isEssential: false,
      };
    },
    requiring: (name) => Promise.resolve(listed.get(name)?.requiring ?? []),
    filesOf: (name) => Promise.resolve(all().find((each) => each.name === name)?.files),
    async *history() {
      await Promise.resolve();
      yield* fake.logged;
    },
    historyMissing: () => Promise.resolve(fake.historyAbsence),
  };
  return fake;
}
