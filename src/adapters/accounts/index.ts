import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { Looked, TakeLook } from "#adapters/exec/look.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { Account, AccountList, Accounts, AuthorizedKey } from "#domain/ports/accounts.ts";
import type { SshConfig, SshServer, SshUser } from "#domain/ports/network.ts";
import { createSlots } from "#kernel/async.ts";
import { errorMessage } from "#kernel/errors.ts";
import { type PasswdRow, parseGroups, parsePasswd, parseShadow } from "./databases.ts";
import { type KeyFiles, keyFilesOf } from "./key-files.ts";
import { keysOfFiles, placeOf } from "./keys.ts";

const mostAccounts = 10_000;
const mostPlaces = 1000;
/** How many accounts sshd is asked about: each takes it some milliseconds. */
const mostAsked = 200;
/** Of all accounts: those who have many must not keep the list of the others from being returned. */
const mostKeys = 10_000;
/** Accounts whose keys are not shown, in a reason. */
const mostNamed = 20;
/** getent: the database cannot be enumerated, or has none of what was asked for. */
const soft = [0, 2, 3];

const cannotList = (why: string, cause?: unknown): HostUnavailable =>
  new HostUnavailable(`cannot list the users of the host: ${why}`, { missing: "getent", retryable: true }, cause);

type LookedPlaces = Looked<readonly AuthorizedKey[] | null>;

function createKeys({ answers }: LookedPlaces) {
  let shown = 0;
  return (files: readonly string[]): readonly AuthorizedKey[] | undefined => {
    if (files.length === 0) return [];
    const keys = answers.get(placeOf(files)) ?? undefined;
    if (shown + (keys?.length ?? 0) > mostKeys) return undefined;
    shown += keys?.length ?? 0;
    return keys;
  };
}

const namesIn = (accounts: readonly Account[]): string => {
  const names = accounts.map(({ name }) => name);
  const more = names.length - mostNamed;
  return `${names.slice(0, mostNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
};

/** Why accounts have no keys, beside those whose files cannot be read. */
function notShownKeys(
  accounts: readonly (Account & { readonly place: string })[],
  { answers, silent, isWhole }: LookedPlaces,
): AccountList["notShown"] {
  const what = "authorized_keys";
  const without = accounts.filter(({ keys }) => keys === undefined);
  const hanging = without.filter(({ place }) => silent.has(place));
  const others = without.filter(({ place }) => !silent.has(place) && answers.get(place) !== null);
  const reasons = [
    ...(hanging.length > 0 ? [`the directories with the keys of these do not answer: ${namesIn(hanging)}`] : []),
    ...(others.length > 0 && !isWhole ? [`there was no time left to read the keys of these: ${namesIn(others)}`] : []),
    ...(others.length > 0 && isWhole ? ["there are too many files or keys"] : []),
  ];
  return reasons.map((reason) => ({ what, reason }));
}

/** Where sshd looks for the keys of each: a `Match` block may name other files for a user or a group. */
async function findKeyFiles(
  rows: readonly PasswdRow[],
  { ssh, groupsOf }: { readonly ssh: SshServer; readonly groupsOf: (row: PasswdRow) => readonly string[] },
  signal: AbortSignal,
): Promise<(row: PasswdRow) => KeyFiles> {
  const ask = async (user?: SshUser): Promise<SshConfig | undefined> => {
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
  const asked = rows
    .slice(0, mostAsked)
    .map((row) => slot(async () => [row.name, await ask({ name: row.name, groups: groupsOf(row) })] as const));
  const configs = new Map(await Promise.all(asked));
  const notAsked: SshConfig = { is: "unknown", reason: `it was asked about the first ${mostAsked} users alone` };
  return (row) => keyFilesOf(row, configs.has(row.name) ? configs.get(row.name) : notAsked);
}

/** The host's getent, and the files that its sshd names. Password states and the keys of others take root. */
export function createAccounts({
  exec,
  ssh,
  look,
}: {
  readonly exec: Exec;
  readonly ssh: SshServer;
  readonly look: TakeLook;
}): Accounts {
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
      const filesOf = await findKeyFiles(rows, { ssh, groupsOf }, signal);
      const found = rows.map((row) => ({ row, of: filesOf(row) }));
      // Those of several accounts, such as below `/nonexistent`, are read once.
      const places = [...new Map(found.map(({ of: { files } }) => [placeOf(files), files])).values()];
      const looked = await look(keysOfFiles, { places: places.slice(0, mostPlaces), mostKeys }, signal);
      const keysOf = createKeys(looked);
      const accounts = found.map(({ row, of: { files, keysAre } }) => {
        const { password, expiresAt } = shadow.get(row.name) ?? { password: "unknown", expiresAt: null };
        return { ...row, groups: groupsOf(row), password, expiresAt, keys: keysOf(files), keysAre };
      });
      const isCut = passwd.truncated || groups.truncated || all.length > mostAccounts;
      const reasons = new Set(found.flatMap(({ of }) => of.reasons));
      const notShown = [
        ...(isCut ? [{ what: "users", reason: `there are more than ${accounts.length}` }] : []),
        ...notShownKeys(
          accounts.map((account, index) => ({ ...account, place: placeOf(found[index]?.of.files ?? []) })),
          looked,
        ),
        ...[...reasons].map((reason) => ({ what: "authorized_keys", reason })),
      ];
      return { accounts, notShown };
    },
  };
}
