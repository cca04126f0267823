import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseUsers } from "#adapters/files/etc.ts";
import { orElse } from "#kernel/errors.ts";

export type UserNames = ReturnType<typeof createUserNames>;

/** What a number stands for that is not mapped into the user namespace of this process (user_namespaces(7)). */
const defaultOverflowUid = 65_534;

/** A namespace that maps every number to itself is the host's, or shows users as it does. */
const mapsAll = (map: string): boolean => /^\s*0\s+0\s+4294967295\s*$/.test(map);

/** Names of users, as passwd(5) has them now. */
export function createUserNames({ procDir, passwd }: { readonly procDir: string; readonly passwd: string }) {
  const hidesSome = !mapsAll(orElse(() => readFileSync(join(procDir, "self/uid_map"), "utf8"), "0 0 4294967295"));
  const overflow = orElse(
    () => Number(readFileSync(join(procDir, "sys/kernel/overflowuid"), "utf8")),
    defaultOverflowUid,
  );
  let known: { readonly version: string; readonly names: ReadonlyMap<number, string> } | undefined;
  const names = (): ReadonlyMap<number, string> => {
    const version = orElse(() => {
      const { mtimeMs, ino, size } = statSync(passwd);
      return `${mtimeMs} ${ino} ${size}`;
    }, "");
    if (known?.version !== version)
      known = { version, names: parseUsers(orElse(() => readFileSync(passwd, "utf8"), "")) };
    return known.names;
  };
  return {
    /** Whether a number stands for users that this process cannot see. */
    isHidden: (uid: number | undefined): boolean => hidesSome && uid === overflow,
    /** Names of the users as they are now, for many at once. */
    naming(): (uid: number | null) => string | null {
      const current = names();
      return (uid) => (uid === null ? null : (current.get(uid) ?? String(uid)));
    },
  };
}
