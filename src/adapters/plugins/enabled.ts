import { randomBytes } from "node:crypto";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { isWritableByOthers, readRegularFile, writeFileAtomic } from "#adapters/files/index.ts";
import { hookEvents } from "#contract/plugins.ts";
import type { EnabledPlugin, EnabledPlugins, HookRole } from "#domain/ports/plugins.ts";
import { orUndefinedSync } from "#kernel/errors.ts";
import { isNumber, isRecord, isString } from "#kernel/values.ts";

const fileName = "enabled.json";
const maxBytes = 1024 ** 2;

const isPlugin = (value: unknown): value is EnabledPlugin =>
  isRecord(value) && [value["name"], value["path"], value["digest"]].every(isString) && isNumber(value["enabledAt"]);

/** What cannot be read is taken as not known, as that of an earlier version. */
function hookOf(value: unknown): HookRole | null | undefined {
  if (value === null) return null;
  const { events, onFailure } = isRecord(value) ? value : {};
  if (!Array.isArray(events) || (onFailure !== "allow" && onFailure !== "veto")) return undefined;
  return { events: hookEvents.filter((event) => events.includes(event)), onFailure };
}

export function readEnabledPlugins(text: string): readonly EnabledPlugin[] {
  const value: unknown = JSON.parse(text);
  const plugins: unknown = isRecord(value) ? value["plugins"] : undefined;
  if (!Array.isArray(plugins) || !plugins.every(isPlugin)) throw new Error("it is not a list of plugins");
  return plugins.map(({ name, path, digest, enabledAt, hook: value }) => {
    const hook = hookOf(value);
    return { name, path, digest, enabledAt, ...(hook !== undefined && { hook }) };
  });
}

/** The list; undefined where there is none. One that somebody else may have written lets somebody else decide what runs. */
function readList(path: string): string | undefined {
  const file = orUndefinedSync(() => readRegularFile(path, { maxBytes, followsLinks: false }));
  if (file === undefined) return undefined;
  const { uid } = file.stat;
  if (uid !== 0 && uid !== process.getuid?.()) throw new Error(`it belongs to user ${uid}`);
  if (isWritableByOthers(file.stat)) throw new Error("others than its owner may change it");
  return file.content.toString("utf8");
}

/** A damaged `enabled.json` is moved aside, and no plugin is enabled. */
export function openEnabledPlugins(ports: {
  readonly stateDir: string;
  readonly onTrouble: (error: unknown, aside: string | undefined) => void;
}): EnabledPlugins {
  const { stateDir, onTrouble } = ports;
  const path = join(stateDir, fileName);

  const load = (): readonly EnabledPlugin[] => {
    try {
      const text = readList(path);
      return text === undefined ? [] : readEnabledPlugins(text);
    } catch (error) {
      const aside = `${path}.damaged-${randomBytes(4).toString("hex")}`;
      try {
        renameSync(path, aside);
        onTrouble(error, aside);
      } catch (cause) {
        onTrouble(new AggregateError([error, cause], `cannot move ${path} aside`), undefined);
      }
      return [];
    }
  };

  let plugins = new Map(load().map((each) => [each.name, each]));

  const replace = (next: Map<string, EnabledPlugin>): void => {
    writeFileAtomic(path, `${JSON.stringify({ plugins: [...next.values()] }, null, 2)}\n`);
    plugins = next;
  };

  return {
    all: () => [...plugins.values()],
    save: (plugin) => replace(new Map([...plugins, [plugin.name, plugin]])),
    remove(name) {
      if (plugins.has(name)) replace(new Map([...plugins].filter(([each]) => each !== name)));
    },
  };
}
