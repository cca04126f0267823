import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { FoundPackage } from "#domain/ports/package-catalog.ts";
import { orUndefined, toError } from "#kernel/errors.ts";
import { ManagerRefuses } from "../common/asking.ts";
import { copyOf, createRecordStore, type RecordStore } from "../common/record-store.ts";
import { createSearch, toText } from "../common/search.ts";
import { type AptPaths, onlyAsking } from "./arguments.ts";
import { createStanzaReader, fieldOf, linesOf, parseStanzas } from "./deb822.ts";
import type { Lists } from "./lists.ts";
import { failureReason } from "./output.ts";

const askMs = 120_000;

/** Descriptions in full, which lists of packages have only in part, by the hash of the description. */
type Descriptions = ReadonlyMap<string, string>;

const kibibyte = 1024;
/** `Installed-Size` is in KiB, `Size` in bytes. */
export function sizeOf(stanza: string, field: "Installed-Size" | "Size"): number | undefined {
  const text = fieldOf(stanza, field);
  if (!/^\d{1,12}$/.test(text)) return undefined;
  return Number(text) * (field === "Size" ? 1 : kibibyte);
}

/** The names in a list such as `mail-transport-agent, default-mta (= 1.0)`. */
export const namesIn = (list: string): readonly string[] =>
  list.split(/[,|]/).flatMap((each) => /^\s*([^\s(:[]+)/.exec(each)?.[1] ?? []);

/** The description of a stanza, in the words of the lists. */
export function descriptionOf(stanza: string): string {
  const lines = ["Description-en", "Description"].map((name) => linesOf(stanza, name)).find(({ length }) => length > 0);
  return (lines ?? []).join("\n");
}

/** Collects the candidate of each name: of several architectures the host's own. */
function createCollector(native: string, descriptions: Descriptions) {
  const store = createRecordStore();
  const foreign = new Map<string, string>();
  const taken = new Set<string>();
  const add = (name: string, architecture: string, stanza: string): void => {
    const md5 = fieldOf(stanza, "Description-md5");
    const description = descriptions.get(md5) ?? descriptionOf(stanza);
    // Apt finds no package without a description either.
    if (description === "") return;
    taken.add(name);
    const [summary = ""] = description.split("\n", 1);
    const found: FoundPackage = {
      name,
      architecture,
      version: fieldOf(stanza, "Version"),
      section: fieldOf(stanza, "Section"),
      summary,
      installedBytes: sizeOf(stanza, "Installed-Size"),
      downloadBytes: sizeOf(stanza, "Size"),
    };
    const provided = namesIn(linesOf(stanza, "Provides").join(" "));
    store.add(name, toText(found), [name, ...provided, description].join("\n"));
  };
  return {
    take(stanza: string): void {
      const name = copyOf(fieldOf(stanza, "Package"));
      const architecture = fieldOf(stanza, "Architecture");
      if (name === "" || taken.has(name)) return;
      if (architecture === native || architecture === "all") add(name, architecture, stanza);
      else if (!foreign.has(name)) foreign.set(name, copyOf(stanza));
    },
    finish(): RecordStore {
      for (const [name, stanza] of foreign) if (!taken.has(name)) add(name, fieldOf(stanza, "Architecture"), stanza);
      store.trim();
      return store;
    },
  };
}

export function createSearchIndex(ports: {
  readonly exec: Exec;
  readonly paths: Pick<AptPaths, "status">;
  readonly lists: Pick<Lists, "directory">;
  readonly native: () => Promise<string>;
  /** Changes when the lists, the settings or what is installed do. */
  readonly mark: () => Promise<string>;
}) {
  const { exec, paths, lists, native, mark } = ports;

  const readStanzas = async (
    argv: readonly [string, ...string[]],
    onStanza: (stanza: string) => void,
  ): Promise<void> => {
    const reader = createStanzaReader(onStanza);
    let fault: Error | undefined;
    const onOutput = (chunk: Buffer): void => {
      try {
        if (fault === undefined) reader.take(chunk);
      } catch (error) {
        fault = toError(error);
      }
    };
    const { exitCode, stderr } = await exec(argv, { timeoutMs: askMs, onOutput });
    if (exitCode !== 0) throw new ManagerRefuses("apt", failureReason(stderr, exitCode));
    if (fault !== undefined) throw fault;
    reader.end();
  };

  const readDescriptions = async (): Promise<Descriptions> => {
    const descriptions = new Map<string, string>();
    const directory = await lists.directory();
    const names = ((await orUndefined(readdir(directory))) ?? []).filter((name) =>
      /_Translation-en(\.\w+)?$/.test(name),
    );
    // Apt's own program unpacks whatever its settings have the lists packed with.
    for (const name of names)
      await readStanzas(["/usr/lib/apt/apt-helper", "cat-file", join(directory, name)], (stanza) =>
        descriptions.set(copyOf(fieldOf(stanza, "Description-md5")), copyOf(descriptionOf(stanza))),
      );
    descriptions.delete("");
    return descriptions;
  };

  const build = async (): Promise<RecordStore> => {
    const collector = createCollector(await native(), await readDescriptions());
    // The candidate of each package, as apt's policy of the host chooses it.
    await readStanzas(["/usr/bin/apt-cache", ...onlyAsking, "dumpavail"], (stanza) => collector.take(stanza));
    // What is installed and in no list is not among them.
    for (const stanza of parseStanzas(await readFile(paths.status, "utf8")))
      if (!/ (config-files|not-installed)$/.test(fieldOf(stanza, "Status"))) collector.take(stanza);
    return collector.finish();
  };

  return createSearch({ build, mark });
}
