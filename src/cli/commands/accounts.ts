import type { Answer } from "#client/index.ts";
import { countedOf } from "#kernel/text.ts";
import { answerCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import { showCommand } from "../core/operation-command.ts";
import { type Asked, limitWord } from "../core/operation-words.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printNotShown } from "../output/print.ts";
import { printTable } from "../output/table.ts";
import { formatAge, formatTime } from "../output/text.ts";

const asWord = (can: boolean | null): string => (can === null ? "not known" : can ? "yes" : "no");

interface UserOptions {
  readonly every?: boolean;
  readonly keys?: boolean;
}

function printUsers(io: Io, { users, total, not_shown: missing }: Answer<"listUsers">, shown: UserOptions): void {
  printTable(io, users, {
    user: "name",
    uid: "uid",
    "signs in": (user) => asWord(user.can_sign_in),
    password: "password",
    keys: ({ authorized_keys: keys }) => keys?.length ?? "?",
    groups: ({ groups }) => groups.join(", "),
    shell: "shell",
    home: "home",
  });
  if (shown.keys)
    for (const { name, authorized_keys: keys } of users)
      for (const { type, bits, fingerprint, comment, options } of keys ?? []) {
        const restricted = options.length === 0 ? "" : ` (${options.join(", ")})`;
        io.out(`${oneLine(`${name}: ${bits ?? "?"} ${fingerprint} ${comment} (${type})${restricted}`)}\n`);
      }
  const more = [...(users.length < total ? ["--limit"] : []), ...(shown.every ? [] : ["--every"])];
  const count = `${countedOf(users.length, total, "user")}${shown.every ? "" : " who can sign in"}`;
  io.out(`${count}${more.length === 0 ? "" : ` (${more.join(" and ")} shows more)`}\n`);
  printNotShown(io.out, missing);
}

export function addUsersCommand(program: Command, ports: CommandPorts): void {
  const command = program
    .command("users")
    .description("users who can sign in, and how")
    // --all is the word for the hosts of all contexts.
    .option("-a, --every", "also users who cannot sign in")
    .option("-k, --keys", "fingerprints of the keys of each account")
    .limit({ minimum: 1, maximum: 10_000, default: 1000 });
  answerCommand(ports, command, {
    ask: (client, { every = false, limit }: UserOptions & { limit: number }) =>
      client.listUsers({ query: { sign_in: !every, limit } }),
    print: (io, answer) => printUsers(io, answer, command.opts<UserOptions>()),
  });
}

function printLogins(
  io: Io,
  { sessions, recent, failed, not_shown: missing }: Answer<"listLogins">,
  { now }: Asked<"listLogins">,
): void {
  const from = (host: string): string => (host === "" ? "this host" : host);
  const title = (text: string, rows: readonly unknown[]): boolean => {
    io.out(`${text}${rows.length === 0 ? ": nobody" : ""}\n`);
    return rows.length > 0;
  };
  if (sessions !== null && title("signed in now", sessions))
    printTable(io, sessions, {
      user: "user",
      from: (each) => from(each.remote_host),
      by: "service",
      terminal: "tty",
      since: ({ since }) => formatAge(since, now),
      state: "state",
    });
  if (recent !== null && title("\nlately", recent))
    printTable(io, recent, {
      user: "user",
      from: (each) => from(each.remote_host),
      terminal: "tty",
      began: (each) => formatTime(each.started_at),
      ended: (each) => (each.ended_at === null ? "" : formatTime(each.ended_at)),
      by: ({ end }) => (end === "none" ? "" : end),
    });
  if (failed !== null && title("\nfailed, within a week", failed))
    printTable(io, failed, {
      user: (each) => (each.known_user ? each.user : `${each.user} (unknown)`),
      from: (each) => from(each.remote_host),
      by: ({ service, method }) => (method === "" ? service : `${service}, ${method}`),
      at: ({ at }) => formatTime(at),
    });
  printNotShown(io.out, missing);
}

export const addLoginsCommand = showCommand("listLogins", "logins", {
  about: "current, past and failed sign-ins",
  words: { limit: { ...limitWord(20), about: "maximum results of each list" } },
  print: printLogins,
});
