import type { FailedLogin } from "#contract/accounts.ts";
import type { LogEntry } from "#contract/log-entry.ts";

/** Who writes of failed logins, by SYSLOG_IDENTIFIER; the second since OpenSSH 9.8. */
export const loginIdentifiers = ["sshd", "sshd-session", "login"] as const;
/** What the journal is searched for. */
export const failedPattern =
  "^(Failed |FAILED LOGIN |Invalid user |ROOT LOGIN REFUSED |User .* not allowed because |Connection (closed|reset) by (invalid|authenticating) user |Disconnect(ed from|ing) (invalid|authenticating) user |(error: )?(maximum authentication attempts exceeded |PAM: .* for ))";

type Tried = Pick<FailedLogin, "user" | "known_user" | "remote_host" | "method">;

/** A line about an attempt, or about a whole connection that came to nothing: the greater its `rank` the more it says. */
interface Line extends Tried {
  readonly rank: number;
}

/** The rank of a line for each single attempt; all others are about a connection. */
const single = 9;

type Reader = readonly [pattern: RegExp, rank: number, read: (groups: readonly string[]) => Tried];

const tried = (user = "", host = "", unknown = "", method = ""): Tried => ({
  user,
  known_user: unknown === "",
  remote_host: host,
  method,
});

// The name is chosen by anyone who tries, and may look like the end of the message: so the end is the last one. The words are those of OpenSSH's
// auth.c, auth2.c and packet.c, and of login of shadow and util-linux.
const readers: readonly Reader[] = [
  [
    /^Failed (\S+) for (<invalid username>)(.*) from (\S+) port \d+(?: ssh\d?)?$/s,
    single,
    ([method, unknown, , host]) => tried(unknown, host, unknown, method),
  ],
  [
    /^Failed (\S+) for (invalid user )?(.*) from (\S+) port \d+(?: ssh\d?)?(?:: .*)?$/s,
    single,
    ([method, unknown, user, host]) => tried(user, host, unknown, method),
  ],
  [
    /^Failed (\S+) for (invalid user )?(.*) from (\S+)$/s,
    single,
    ([method, unknown, user, host]) => tried(user, host, unknown, method),
  ],
  [/^User (.*) from (\S+) not allowed because .*$/s, 5, ([user, host]) => tried(user, host)],
  // Of a locked account, without the address: another line of the connection has it.
  [/^User (.*?) not allowed because .*$/s, 0.5, ([user]) => tried(user)],
  [
    /^(?:error: )?maximum authentication attempts exceeded for (invalid user )?(.*) from (\S+) port \d+ ssh2(?: \[preauth\])?$/s,
    4,
    ([unknown, user, host]) => tried(user, host, unknown),
  ],
  [
    /^(?:error: )?PAM: .*? for (illegal user |invalid user )?(.*) from (\S+?)(?: via \S+)?\s*$/s,
    3,
    ([unknown, user, host]) => tried(user, host, unknown, "keyboard-interactive/pam"),
  ],
  [/^Invalid user (.*) from (\S+)(?: port \d+)?$/s, 2, ([user, host]) => tried(user, host, "invalid")],
  [/^ROOT LOGIN REFUSED FROM (\S+)(?: port \d+)?(?: \[preauth\])?$/s, 2, ([host]) => tried("root", host)],
  [
    /^(?:Connection (?:closed|reset) by|Disconnect(?:ed from|ing)) (invalid|authenticating) user (.*) (\S+) port \d+(?:: .*?)?(?: \[preauth\])?$/s,
    1,
    ([kind, user, host]) => tried(user, host, kind === "invalid" ? kind : ""),
  ],
  [
    /^FAILED LOGIN (?:\(\d+\) on|\d+ FROM) '?\S+?'?(?: from '(.*)')? FOR '?(.*?)'?, .*$/s,
    single,
    ([host, user]) => tried(user, host, "", "password"),
  ],
];

function read(message: string): Line | undefined {
  for (const [pattern, rank, toTried] of readers) {
    const match = pattern.exec(message);
    if (match !== null) return { ...toTried(match.slice(1).map((group) => group ?? "")), rank };
  }
  return undefined;
}

const mostNameChars = 256;
/** A process of sshd ends with its connection, long before its number is given to another. */
const connectionMs = 15 * 60_000;

interface Connection {
  readonly at: number;
  readonly attempts: FailedLogin[];
  /** What says most about the connection itself. */
  whole: { readonly login: FailedLogin; readonly rank: number } | undefined;
}

/**
 * Failed logins, as entries of the journal report them, newest first. sshd writes several lines of one connection, each from the same process:
 * where it has lines for single attempts these are given, else one for the connection.
 * @param entries newest first; what is about something else is left out.
 */
export function failedLoginsIn(entries: readonly LogEntry[]): readonly FailedLogin[] {
  const open = new Map<string, Connection>();
  const all: Connection[] = [];
  for (const { timestamp, identifier, message, pid, boot_id: bootId, cursor } of entries) {
    const line = read(message);
    if (line === undefined) continue;
    const { rank, ...who } = line;
    const service = identifier === "login" ? "login" : "sshd";
    const login: FailedLogin = { at: timestamp, ...who, user: who.user.slice(0, mostNameChars), service };
    const at = Date.parse(timestamp);
    const key = pid === null ? cursor : `${bootId} ${identifier} ${pid}`;
    let connection = open.get(key);
    if (connection === undefined || connection.at - at > connectionMs) {
      connection = { at, attempts: [], whole: undefined };
      open.set(key, connection);
      all.push(connection);
    }
    if (rank === single) connection.attempts.push(login);
    else if (rank > (connection.whole?.rank ?? 0)) connection.whole = { login, rank };
  }
  return all
    .flatMap(({ attempts, whole }) => (attempts.length > 0 || whole === undefined ? attempts : [whole.login]))
    .sort((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0));
}
