import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { readRegularFile } from "#adapters/files/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { Account, Accounts, AuthorizedKey } from "#domain/ports/accounts.ts";
import { isNotFound } from "#kernel/errors.ts";
import { parseAuthorizedKeys } from "./authorized-keys.ts";
import { type PasswdRow, parseGroups, parsePasswd, parseShadow } from "./databases.ts";

const mostAccounts = 10_000;
const mostHomes = 1000;
/** Of all accounts: those who have many must not keep the list of the others from being told. */
const mostKeys = 10_000;
const keyFiles = [".ssh/authorized_keys", ".ssh/authorized_keys2"];
const mostKeyBytes = 256 * 1024;
/** getent: the database cannot be enumerated, or has none of what was asked for. */
const soft = [0, 2, 3];

const cannotList = (why: string, cause?: unknown): HostUnavailable =>
  new HostUnavailable(`cannot list the users of the host: ${why}`, { missing: "getent", retryable: true }, cause);

/** Undefined where one of the files cannot be read. One who owns the home chooses what is there: only keys are read of it. */
function keysIn(home: string): readonly AuthorizedKey[] | undefined {
  if (!home.startsWith("/") || home.includes("\0")) return [];
  const keys: AuthorizedKey[] = [];
  for (const file of keyFiles) {
    try {
      const { content } = readRegularFile(join(home, file), { maxBytes: mostKeyBytes, followsLinks: false });
      keys.push(...parseAuthorizedKeys(content.toString("utf8")));
    } catch (error) {
      if (!isNotFound(error)) return undefined;
    }
  }
  return keys;
}

/** Homes of several accounts, such as `/nonexistent`, are looked at once. */
function createHomes() {
  const seen = new Map<string, readonly AuthorizedKey[] | undefined>();
  let shown = 0;
  let isCut = false;
  return {
    isCut: (): boolean => isCut,
    keysOf(home: string): readonly AuthorizedKey[] | undefined {
      if (!seen.has(home)) {
        if (seen.size >= mostHomes) {
          isCut = true;
          return undefined;
        }
        seen.set(home, keysIn(home));
      }
      const keys = seen.get(home);
      shown += keys?.length ?? 0;
      if (shown <= mostKeys) return keys;
      isCut = true;
      shown -= keys?.length ?? 0;
      return undefined;
    },
  };
}

/** The host's getent, and homes. Password states and the keys of others take root. */
export function createAccounts({ exec }: { readonly exec: Exec }): Accounts {
  const getent = async (database: string, signal: AbortSignal) => {
    const { exitCode, stdout, stderr, truncated } = await exec(["getent", database], { signal }).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        throw error instanceof CommandFailed ? cannotList(error.message, error) : error;
      },
    );
    if (!soft.includes(exitCode)) throw cannotList(stderr.trim() || `getent ended with ${exitCode}`);
    // The last line may be cut.
    return { text: truncated ? stdout.slice(0, stdout.lastIndexOf("\n") + 1) : stdout, truncated };
  };
  return {
    async list(signal) {
      const passwd = await getent("passwd", signal);
      const groups = await getent("group", signal);
      const shadow = parseShadow((await getent("shadow", signal)).text);
      const groupsOf = parseGroups(groups.text);
      const rows = [...new Map(parsePasswd(passwd.text).map((row) => [row.name, row])).values()];
      const homes = createHomes();
      const toAccount = (row: PasswdRow): Account => {
        const { password, expiresAt } = shadow.get(row.name) ?? { password: "unknown", expiresAt: null };
        return { ...row, groups: groupsOf(row), password, expiresAt, keys: homes.keysOf(row.home) };
      };
      const isCut = passwd.truncated || groups.truncated || rows.length > mostAccounts;
      const accounts = rows
        .sort((one, other) => one.uid - other.uid)
        .slice(0, mostAccounts)
        .map(toAccount);
      const notShown = [
        ...(isCut ? [{ what: "users", reason: `there are more than ${accounts.length}` }] : []),
        ...(homes.isCut() ? [{ what: "authorized_keys", reason: "there are too many homes or keys" }] : []),
      ];
      return { accounts, notShown };
    },
  };
}
