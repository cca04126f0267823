import { createClient } from "#client/index.ts";
import type { Command } from "../core/command.ts";
import { type AddCommand, changingCommand, commandGroup, listCommand } from "../core/operation-command.ts";
import type { CommandPorts, Connection } from "../core/ports.ts";
import { oneLine, printJson } from "../output/output.ts";
import { formatTime } from "../output/text.ts";

/** A connection by a key, which a code can stand for: over root's socket with the admin key of this host. */
async function keyed({ connect, local }: CommandPorts, command: Command): Promise<Connection> {
  const connection = await connect(command);
  if (connection.key !== undefined || connection.openSocket === undefined) return connection;
  const { url, adminKeyFile, readAdminKey } = await local.localService();
  try {
    const { text } = await readAdminKey(adminKeyFile, url);
    const own = { ...connection, key: text.trim() };
    return { ...own, client: createClient(own) };
  } catch (error) {
    const why = `cannot make a code: it stands for a key, and ${adminKeyFile} cannot be read (use --key-file)`;
    throw new Error(why, { cause: error });
  }
}

async function consoleAddress(ports: CommandPorts, command: Command) {
  const { client, url, openSocket } = await keyed(ports, command);
  // Whose client has an address that no browser can open.
  const isOverSocket = openSocket !== undefined;
  const { code, expires_at: expiresAt } = await client.createCode();
  if (code === undefined) throw new Error("cannot make a code: the service answered with a plan");
  const base = isOverSocket ? (await ports.local.localService()).url : url;
  // In the fragment, which no server and no log of one gets to see.
  return { url: `${base.replace(/\/$/, "")}/console/#code=${code}`, expires_at: expiresAt };
}

const addConsoleCommand: AddCommand = (program, ports) => {
  const { io, local } = ports;
  program
    .command("console")
    .description("sign in with a browser: print an address that is good once, for a minute")
    .option("--open", "open it in the browser of this desktop, too")
    .json()
    .notes(
      "The browser gets a session that may read, as far as the key may, and never the key. Anyone who has the address signs in with it: do not pass it on.",
    )
    .action(async (options: { readonly open?: boolean; readonly json?: boolean }, command: Command) => {
      const address = await consoleAddress(ports, command);
      if (options.json) printJson(io, address);
      else io.out(`${oneLine(address.url)}\n`);
      if (options.open) await local.openBrowser(address.url);
    });
};

const sessions = commandGroup(
  { name: "sessions", about: "who is signed in with a browser, and sign-out", preset: "list" },
  [
    listCommand("listSessions", "list", {
      about: "sessions of the own key, or all with keys:admin",
      rows: "sessions",
      columns: {
        id: "id",
        key: ({ key_id: id, name }) => `${name} (${id})`,
        from: ({ remote_address: address }) => address ?? "unknown",
        since: ({ created_at: at }) => formatTime(at),
        "last used": ({ last_used_at: at }) => formatTime(at),
        ends: ({ idles_out_at: at }) => formatTime(at),
        may: ({ elevated }) => ({ text: elevated ? "change" : "read", style: elevated ? "yellow" : undefined }),
      },
      empty: "nobody is signed in",
    }),
    changingCommand("endSession", "end", {
      about: "sign a session out, at once",
      words: { id: { as: "<id>", about: "id of the session" } },
      print: (io, { id, message }) => io.out(`${oneLine(`${id}: ${message}`)}\n`),
    }),
  ],
);

const passkeys = commandGroup(
  { name: "passkeys", about: "passkeys that sign somebody in, and their removal", preset: "list" },
  [
    listCommand("listPasskeys", "list", {
      about: "passkeys of the own key, or all with keys:admin",
      rows: "passkeys",
      columns: {
        id: "id",
        name: "name",
        key: ({ key_id: id, key_name: name }) => `${name} (${id})`,
        for: "domain",
        since: ({ created_at: at }) => formatTime(at),
        "last used": ({ last_used_at: at }) => (at === null ? "never" : formatTime(at)),
      },
      empty: "there are no passkeys (the page of steward console registers them)",
    }),
    changingCommand("removePasskey", "remove", {
      about: "remove a passkey; sessions that were started with it continue",
      words: { id: { as: "<id>", about: "id of the passkey" } },
      print: (io, { id, message }) => io.out(`${oneLine(`${id}: ${message}`)}\n`),
    }),
  ],
);

export const addSessionsCommands: AddCommand = (program, ports) => {
  for (const add of [addConsoleCommand, sessions, passkeys]) add(program, ports);
};
