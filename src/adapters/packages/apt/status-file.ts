/** A package as dpkg's database has it. */
export interface DpkgEntry {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** Whether versions for several architectures can be installed side by side. */
  readonly isMultiArchSame: boolean;
  /** `install`, `hold`, `deinstall`, `purge`. */
  readonly want: string;
  /** `reinstreq`: what is on disk cannot be relied on. */
  readonly flag: string;
  /** `installed`, `unpacked`, `half-configured`, … */
  readonly state: string;
}

/** Fields by their names; a line that begins with a space goes on with the field before and is not needed here. */
function fieldsOf(stanza: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of stanza.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0 && !/^[\s#]/.test(line)) fields.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return fields;
}

function entryOf(stanza: string): DpkgEntry | undefined {
  const fields = fieldsOf(stanza);
  const name = fields.get("package");
  const [want = "", flag = "", state = ""] = (fields.get("status") ?? "").split(/\s+/);
  if (name === undefined || name === "" || state === "") return undefined;
  return {
    name,
    version: fields.get("version") ?? "",
    architecture: fields.get("architecture") ?? "",
    isMultiArchSame: fields.get("multi-arch") === "same",
    want,
    flag,
    state,
  };
}

/** The packages of dpkg's `status` file, or of a file of its `updates` folder. What is no package is left out. */
export function parseStatusFile(text: string): readonly DpkgEntry[] {
  return text.split(/\n\n+/).flatMap((stanza) => entryOf(stanza) ?? []);
}

const keyOf = ({ name, architecture, isMultiArchSame }: DpkgEntry): string =>
  isMultiArchSame ? `${name}:${architecture}` : name;

/** What dpkg knows once it has taken up what it wrote down last: each update replaces the entry of its package. */
export function withUpdates(entries: readonly DpkgEntry[], updates: readonly DpkgEntry[]): readonly DpkgEntry[] {
  if (updates.length === 0) return entries;
  const merged = new Map(entries.map((entry) => [keyOf(entry), entry]));
  for (const update of updates) merged.set(keyOf(update), update);
  return [...merged.values()];
}
