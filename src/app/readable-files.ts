import type { Exec } from "#adapters/exec/index.ts";
import type { Settings } from "#config/settings.ts";

export interface NamedFile {
  readonly path: readonly string[];
  readonly file: string;
}

const tlsMembers: readonly string[] = ["cert", "key", "client_ca", "client_crl"];

export function filesOfSettings(settings: Settings): readonly NamedFile[] {
  const below = (value: unknown, path: readonly string[]): readonly NamedFile[] => {
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
      const at = [...path, name];
      const isFile = name.endsWith("_file") || (path.join(".") === "tls" && tlsMembers.includes(name));
      return isFile && typeof member === "string" ? [{ path: at, file: member }] : below(member, at);
    });
  };
  return below(settings, []);
}

/** Files that a user cannot read, tested as that user, so that directories and ACLs count. @throws CommandFailed. */
export async function unreadableFiles(
  settings: Settings,
  { exec, uid, gid }: { readonly exec: Exec; readonly uid: number; readonly gid: number },
): Promise<readonly NamedFile[]> {
  const unreadable: NamedFile[] = [];
  for (const each of filesOfSettings(settings)) {
    const asUser = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--init-groups", "--"] as const;
    const { exitCode } = await exec([...asUser, "test", "-r", each.file]);
    if (exitCode !== 0) unreadable.push(each);
  }
  return unreadable;
}
