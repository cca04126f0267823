import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { readRegularFile } from "#adapters/files/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { Account, Accounts, AuthorizedKey } from "#domain/ports/accounts.ts";
import type { SshConfig, SshServer } from "#domain/ports/network.ts";
import { createSlots } from "#kernel/async.ts";
import { errorMessage, isNotFound } from "#kernel/errors.ts";
import { parseAuthorizedKeys } from "./authorized-keys.ts";
import { type PasswdRow, parseGroups, parsePasswd, parseShadow } from "./databases.ts";
import { type KeyFiles, keyFilesOf } from "./key-files.ts";

const mostAccounts = 10_000;
const mostHomes = 1000;
/** How many accounts sshd is asked about: each takes it some milliseconds. */
const mostAsked = 200;
/** Of all accounts: those who have many must not keep the list of the others from being told. */
const mostKeys = 10_000;
const mostKeyBytes = 256 * 1024;
/** getent: the database cannot be enumerated, or has none of what was asked for. */
const soft = [0, 2, 3];

const cannotList = (why: string, cause?: unknown): HostUnavailable =>
  new HostUnavailable(`cannot list the users of the host: ${why}`, { missing: "getent", retryable: true }, cause);

/** Undefined where one of the files cannot be read. One who owns the home chooses what is there: only keys are read of it. */
function keysIn(files: readonly string[]): readonly AuthorizedKey[] | undefined {
  const keys: AuthorizedKey[] = [];
  for (const file of files) {
    if (!file.startsWith("/") || file.includes("\0")) continue;
    try {
      const { content } = readRegularFile(file, { maxBytes: mostKeyBytes, followsLinks: false });
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
    keysOf(files: readonly string[]): readonly AuthorizedKey[] | undefined {
      const place = files.join("\0");
      if (!seen.has(place)) {
        if (seen.size >= mostHomes) {
          isCut = true;
          return undefined;
        }
        seen.set(place, keysIn(files));
      }
      const keys = seen.get(place);
      shown += keys?.length ?? 0;
      if (shown <= mostKeys) return keys;
      isCut = true;
      shown -= keys?.length ?? 0;
      return undefined;
    },
  };
}

/** Where sshd looks for the keys of each: a `Match` block may name other files for a user or a group. */
async function findKeyFiles(
  rows: readonly PasswdRow[],
  ssh: SshServer,
  signal: AbortSignal,
): Promise<(row: PasswdRow) => KeyFiles> {
  const ask = async (user?: string): Promise<SshConfig | undefined> => {
    try {
      return await ssh.config(signal, user);
    } catch (error) {
      signal.throwIfAborted();
      return { is: "unknown", reason: errorMessage(error) };
    }
  };
  const general = await ask();
  if (general?.is !== "valid") return (row) => keyFilesOf(row, general);
  const slot = createSlots(4);
  const asked = rows.slice(0, mostAsked).map(({ name }) => slot(async () => [name, await ask(name)] as const));
  const configs = new Map(await Promise.all(asked));
  const notAsked: SshConfig = { is: "unknown", reason: `it was asked about the first ${mostAsked} users alone` };
  return (row) => keyFilesOf(row, configs.has(row.name) ? configs.get(row.name) : notAsked);
}

/** The host's getent, and the files that its sshd names. Password states and the keys of others take root. */
export function createAccounts({ exec, ssh }: { readonly exec: Exec; readonly ssh: SshServer }): Accounts {
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
      const all = [...new Map(parsePasswd(passwd.text).map((row) => [row.name, row])).values()];
      const rows = all.sort((one, other) => one.uid - other.uid).slice(0, mostAccounts);
      const filesOf = await findKeyFiles(rows, ssh, signal);
      const homes = createHomes();
      const reasons = new Set<string>();
      const toAccount = (row: PasswdRow): Account => {
        const { password, expiresAt } = shadow.get(row.name) ?? { password: "unknown", expiresAt: null };
        const { files, keysAre, reasons: ofKeys } = filesOf(row);
        for (const reason of ofKeys) reasons.add(reason);
        return { ...row, groups: groupsOf(row), password, expiresAt, keys: homes.keysOf(files), keysAre };
      };
      const isCut = passwd.truncated || groups.truncated || all.length > mostAccounts;
      const accounts = rows.map(toAccount);
      const notShown = [
        ...(isCut ? [{ what: "users", reason: `there are more than ${accounts.length}` }] : []),
        ...(homes.isCut() ? [{ what: "authorized_keys", reason: "there are too many homes or keys" }] : []),
        ...[...reasons].map((reason) => ({ what: "authorized_keys", reason })),
      ];
      return { accounts, notShown };
    },
  };
}
