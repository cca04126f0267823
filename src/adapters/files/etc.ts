/** Names by number in passwd(5). */
export function parseUsers(passwd: string): ReadonlyMap<number, string> {
  const users = new Map<number, string>();
  for (const line of passwd.split("\n")) {
    const [name = "", , uid = ""] = line.split(":");
    // The first line of a number counts, as for getpwuid(3).
    if (/^\d+$/.test(uid) && name !== "" && !users.has(Number(uid))) users.set(Number(uid), name);
  }
  return users;
}

/** os-release(5). Values may be quoted as in a shell. */
export function parseOsRelease(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^\s*([A-Z0-9_]+)=(.*?)\s*$/.exec(line);
    if (match === null) continue;
    const [, key = "", raw = ""] = match;
    const quoted = /^"(.*)"$|^'(.*)'$/s.exec(raw);
    const value = quoted === null ? raw : (quoted[1] ?? quoted[2] ?? "");
    values.set(key, value.replaceAll(/\\(["$`\\])/g, "$1"));
  }
  return values;
}

/** The name and the version of a distribution; `rolling` where it has none. */
export function distributionOf(release: ReadonlyMap<string, string>): {
  readonly name: string;
  readonly version: string;
} {
  // Images of Arch Linux may have a version that was to be filled in.
  const isVersion = (value: string | undefined): value is string => !!value && !value.startsWith("TEMPLATE_");
  const versions = ["VERSION_ID", "BUILD_ID", "VERSION"].map((field) => release.get(field));
  return { name: release.get("NAME") || "Linux", version: versions.find(isVersion) ?? "rolling" };
}

/** Whether a distribution is of the SUSE family. */
export function isSuse(release: ReadonlyMap<string, string>): boolean {
  const ids = [release.get("ID"), ...(release.get("ID_LIKE") ?? "").split(/\s+/)];
  return ids.some((id) => /^(?:(?:open)?suse|sle)/.test(id ?? ""));
}
