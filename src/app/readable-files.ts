import type { Exec } from "#adapters/exec/index.ts";
import type { Settings } from "#config/settings.ts";

/** A file that a setting names and the service reads. */
export interface NamedFile {
  /** Where in the settings. */
  readonly path: readonly string[];
  readonly file: string;
}

/** Members that name files without saying so in their name. */
const tlsMembers: readonly string[] = ["cert", "key", "client_ca", "client_crl"];

/** Every file that settings name: members called `…_file`, and those of `tls`. */
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

/**
 * Those that a user cannot read, found out by reading them as that user: permissions of directories and access control lists count.
 * @throws CommandFailed when that cannot be tried.
 */
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
