export interface InstalledRecord {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly isManual: boolean;
  readonly bytes: number;
  readonly groups: readonly string[];
}

/** What pacman takes for a name; nothing else is passed on. */
export const isPackageName = (name: string): boolean => /^[A-Za-z0-9@_+][A-Za-z0-9@._+-]*$/.test(name);

export function parseEntry(text: string): { readonly name: string; readonly version: string } | undefined {
  const [, name, version] = /^(.+)-([^\s-]+-[^\s-]+)$/.exec(text) ?? [];
  return name === undefined || version === undefined ? undefined : { name, version };
}

/** The fields of a file of pacman's: `%NAME%`, and its values on the lines below up to an empty one. */
export function parseFields(text: string): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  let values: string[] | undefined;
  for (const line of text.split("\n")) {
    const [, field] = values === undefined ? (/^%([A-Z0-9]+)%$/.exec(line) ?? []) : [];
    if (field !== undefined) {
      values = [];
      fields.set(field, values);
    } else if (line === "") values = undefined;
    else values?.push(line);
  }
  return fields;
}

export function parseRecord(text: string): InstalledRecord | undefined {
  const fields = parseFields(text);
  const first = (field: string): string | undefined => fields.get(field)?.[0];
  const [name, version] = [first("NAME"), first("VERSION")];
  if (name === undefined || version === undefined) return undefined;
  return {
    name,
    version,
    architecture: first("ARCH") ?? "any",
    isManual: (first("REASON") ?? "0") === "0",
    bytes: Number(first("SIZE") ?? 0),
    groups: fields.get("GROUPS") ?? [],
  };
}

export interface OfferedUpdate {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly isHeld: boolean;
}

export const parseOffered = (text: string): readonly OfferedUpdate[] =>
  text.split("\n").flatMap((line) => {
    const [, name, from, to, ignored] = /^(\S+) (\S+) -> (\S+)( \[ignored\])?$/.exec(line) ?? [];
    if (name === undefined || from === undefined || to === undefined) return [];
    return [{ name, from, to, isHeld: ignored !== undefined }];
  });

/** What `pacman -Dk` names: what packages need and is not there, and what does not go together. */
export function parseUnmet(text: string): readonly { readonly name: string; readonly needs: string }[] {
  return text.split("\n").flatMap((line) => {
    const [, needs, by] = /^error: missing '(.+)' dependency for '(.+)'$/.exec(line) ?? [];
    if (needs !== undefined && by !== undefined) return [{ name: by, needs }];
    const [, one, other] = /^error: '(\S+)' conflicts with '(\S+)'$/.exec(line) ?? [];
    return one === undefined || other === undefined ? [] : [{ name: one, needs: `that ${other} is not there` }];
  });
}
