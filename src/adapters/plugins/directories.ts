import { basename, dirname, resolve } from "node:path";
import type { Looked, TakeLook } from "#adapters/exec/look.ts";
import type { FoundPlugin, PluginDirectories } from "#domain/ports/plugins.ts";
import { errorMessage } from "#kernel/errors.ts";
import { isShown, type PluginAnswer, pluginsOfDirectories, self } from "./inspect.ts";
import { manifestName } from "./manifest.ts";
import type { Owner } from "./trust.ts";

/** A change may come at the same time of the file system's clock as the one before it, and is then not seen by its time. */
const settledMs = 2_000;

const noAnswer = "its file system gives no answer";
const notRead = "there was no time left to read it";

interface LookedPlugins extends Looked<PluginAnswer> {
  /** Why nothing was read. */
  readonly why?: string;
}

const unread = (error: unknown): LookedPlugins => ({
  answers: new Map(),
  silent: new Set(),
  isWhole: false,
  why: errorMessage(error),
});

interface Kept {
  readonly signature: string;
  readonly found: FoundPlugin;
}

/** The first of each name is used. */
function withoutRepetitions(all: readonly FoundPlugin[]): readonly FoundPlugin[] {
  const firsts = new Map<string, string>();
  return all.map((plugin) => {
    if (!("manifest" in plugin.loaded)) return plugin;
    const first = firsts.get(plugin.name);
    if (first === undefined) {
      firsts.set(plugin.name, plugin.path);
      return plugin;
    }
    const { type } = plugin.loaded.manifest.role;
    const fault = `${first} has this name too, and comes first (change name in ${plugin.path}/${manifestName})`;
    return { ...plugin, loaded: { fault, type } };
  });
}

export function createPluginDirectories(ports: {
  readonly dirs: readonly string[];
  readonly now: () => number;
  readonly look: TakeLook;
  readonly owner?: Owner;
}): PluginDirectories {
  const { now, look, owner = self() } = ports;
  const dirs = ports.dirs.map((dir) => resolve(dir));
  const kept = new Map<string, Kept>();
  const { signal } = new AbortController();

  const lookAt = async (wanted: {
    readonly dirs: readonly string[];
    readonly paths: readonly string[];
  }): Promise<LookedPlugins> => {
    const askedAt = now();
    const known = Object.fromEntries([...kept].map(([path, { signature }]) => [path, signature]));
    const looked = await look(pluginsOfDirectories, { ...wanted, owner, known }, signal).catch(unread);
    for (const [path, answer] of looked.answers) {
      const { signature, newestMs = askedAt, found } = answer ?? {};
      if (answer === null || found !== undefined) kept.delete(path);
      if (signature !== undefined && found !== undefined && askedAt - newestMs > settledMs)
        kept.set(path, { signature, found });
    }
    return looked;
  };

  /** Undefined for what is no plugin. */
  const foundIn = ({ answers, silent, why }: LookedPlugins, path: string): FoundPlugin | undefined => {
    const answer = answers.get(path);
    if (answer === null) return undefined;
    if (answer !== undefined) return answer.found ?? kept.get(path)?.found;
    const name = kept.get(path)?.found.name ?? basename(path);
    const fault = silent.has(path) ? noAnswer : (why ?? notRead);
    return { path, name, loaded: { fault, type: undefined, isUnread: true } };
  };

  return {
    async find() {
      const looked = await lookAt({ dirs, paths: [] });
      const found = dirs.flatMap((dir) => {
        const below = [...looked.answers.keys(), ...looked.silent].filter((path) => dirname(path) === dir);
        return [...below.sort(), dir].flatMap((path) => foundIn(looked, path) ?? []);
      });
      return withoutRepetitions(found);
    },
    async read(path) {
      // What is not found is not read by its path either: anyone who asks for it need not be who put it away there.
      const isOurs = dirs.includes(dirname(path)) && isShown(basename(path));
      return isOurs ? foundIn(await lookAt({ dirs: [], paths: [path] }), path) : undefined;
    },
  };
}
