import type { FoundPlugin, PluginDirectories, PluginManifest } from "#domain/ports/plugins.ts";

export interface FakePluginDirectories extends PluginDirectories {
  /** Puts a plugin into its directory, or changes it there. */
  readonly put: (name: string, manifest?: Partial<PluginManifest>) => FoundPlugin;
  /** Makes a directory that cannot be loaded. */
  readonly spoil: (name: string, fault: string) => void;
  /** Changes something in the directory, so that its digest is another. */
  readonly touch: (name: string) => void;
  readonly remove: (name: string) => void;
  /** Whether the directory gives no answer. */
  isSilent: boolean;
  /** How often a directory was read by itself. */
  reads: number;
}

const dir = "/etc/steward/plugins";

/** A manifest of a command that asks for nothing. */
export const plainManifest = (name: string): PluginManifest => ({
  name,
  version: "1.0.0",
  author: "",
  description: "",
  command: [`${dir}/${name}/run`],
  timeoutMs: 30_000,
  permissions: { user: undefined, network: "none", read: [], write: [], memoryBytes: 268_435_456, tasks: 64 },
  role: { type: "command", usage: undefined },
});

/** Directories of plugins in memory, each named after its plugin. */
export function createFakePluginDirectories(): FakePluginDirectories {
  const plugins = new Map<string, FoundPlugin>();
  let changes = 0;
  const nextDigest = (): string => {
    changes += 1;
    return changes.toString(16).padStart(64, "0");
  };
  const pathOf = (name: string): string => `${dir}/${name}`;
  const silent = (path: string, name: string): FoundPlugin => {
    return { path, name, loaded: { fault: "its file system gives no answer", type: undefined, isUnread: true } };
  };
  const fake: FakePluginDirectories = {
    isSilent: false,
    reads: 0,
    find() {
      if (fake.isSilent) return Promise.resolve([silent(dir, "plugins")]);
      return Promise.resolve([...plugins.values()].sort((one, other) => (one.path < other.path ? -1 : 1)));
    },
    read(path) {
      fake.reads += 1;
      if (fake.isSilent) return Promise.resolve(silent(path, path.slice(dir.length + 1)));
      return Promise.resolve([...plugins.values()].find((each) => each.path === path));
    },
    put(name, manifest = {}) {
      const whole = { ...plainManifest(name), ...manifest };
      const found = { path: pathOf(name), name, loaded: { manifest: whole, digest: nextDigest() } };
      plugins.set(name, found);
      return found;
    },
    spoil(name, fault) {
      plugins.set(name, { path: pathOf(name), name, loaded: { fault, type: undefined } });
    },
    touch(name) {
      const found = plugins.get(name);
      if (found === undefined || !("manifest" in found.loaded))
        throw new Error(`cannot change ${name}: it is not there`);
      plugins.set(name, { ...found, loaded: { ...found.loaded, digest: nextDigest() } });
    },
    remove: (name) => void plugins.delete(name),
  };
  return fake;
}
