import { randomBytes } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { EnabledPlugin, EnabledPlugins } from "#domain/plugins/ports.ts";
import { errnoCode } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import { writeWhole } from "./write-whole.ts";

const fileName = "enabled.json";
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Far more than all plugins of a host take. */
const maxBytes = 1024 ** 2;

const isPlugin = (value: unknown): value is EnabledPlugin =>
  isRecord(value) &&
  [value["name"], value["path"], value["digest"]].every((each) => typeof each === "string") &&
  typeof value["enabledAt"] === "number";

/** What `enabled.json` says. @throws Error when it is not such a list. */
export function readEnabledPlugins(text: string): readonly EnabledPlugin[] {
  const value: unknown = JSON.parse(text);
  const plugins: unknown = isRecord(value) ? value["plugins"] : undefined;
  if (!Array.isArray(plugins) || !plugins.every(isPlugin)) throw new Error("it is not a list of plugins");
  return plugins.map(({ name, path, digest, enabledAt }) => ({ name, path, digest, enabledAt }));
}

/** A list that somebody else may have written lets somebody else decide what runs. */
function requireOwn(handle: number): void {
  const stat = fstatSync(handle);
  const { uid, mode, size } = stat;
  if (!stat.isFile()) throw new Error("it is not a file");
  if (uid !== 0 && uid !== process.getuid?.()) throw new Error(`it belongs to user ${uid}`);
  if ((mode & 0o022) !== 0) throw new Error("others than its owner may change it");
  if (size > maxBytes) throw new Error(`it is longer than ${maxBytes} bytes`);
}

/** Text of a file; undefined when there is none. */
function textOf(path: string): string | undefined {
  let handle: number;
  try {
    handle = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (errnoCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    requireOwn(handle);
    return readFileSync(handle, "utf8");
  } finally {
    closeSync(handle);
  }
}

/**
 * Which plugins are enabled, in `enabled.json` of the state folder. A file that cannot be read for what it is gives nobody
 * leave to run: it is set aside, and none is enabled.
 */
export function openEnabledPlugins(ports: {
  readonly stateDir: string;
  /** Told of a damaged file, with the path under which it is kept. */
  readonly onTrouble: (error: unknown, aside: string | undefined) => void;
}): EnabledPlugins {
  const { stateDir, onTrouble } = ports;
  const path = join(stateDir, fileName);

  const setAside = (): string => {
    const aside = `${path}.damaged-${randomBytes(4).toString("hex")}`;
    renameSync(path, aside);
    return aside;
  };

  const load = (): readonly EnabledPlugin[] => {
    try {
      const text = textOf(path);
      return text === undefined ? [] : readEnabledPlugins(text);
    } catch (error) {
      let aside: string | undefined;
      try {
        aside = setAside();
      } catch (cause) {
        onTrouble(new AggregateError([error, cause], `cannot set ${path} aside`), undefined);
        return [];
      }
      onTrouble(error, aside);
      return [];
    }
  };

  let plugins = new Map(load().map((each) => [each.name, each]));

  const replace = (next: Map<string, EnabledPlugin>): void => {
    writeWhole(path, `${JSON.stringify({ plugins: [...next.values()] }, null, 2)}\n`);
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
