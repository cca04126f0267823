import { resolve } from "node:path";
import { defined } from "#kernel/values.ts";
import { asAddress, assertName, type Context, contextNamed, localName } from "../contexts/store.ts";
import { valueCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import { explainError } from "../core/errors.ts";
import type { CommandPorts } from "../core/ports.ts";
import { exitCode, oneLine, printJson } from "../output/output.ts";
import { printTable } from "../output/table.ts";

type Ports = Pick<CommandPorts, "io" | "finish" | "given" | "local" | "contexts" | "connectTo">;

const testTimeoutMs = 10_000;

const listed = (name: string, { url, keyFile, cacert, cert, certKey }: Context, isCurrent: boolean) => ({
  name,
  url,
  current: isCurrent,
  key_file: keyFile ?? null,
  cacert: cacert ?? null,
  cert: cert ?? null,
  cert_key: certKey ?? null,
});

/** The file with the key: the named one, or a private one that gets the key from standard input. */
async function keyFileFor(name: string, { given, local, contexts: store }: Ports, command: Command) {
  const { keyFile, cert } = given(command);
  if (keyFile !== undefined) return resolve(keyFile);
  const text = cert === undefined ? (await local.readInput())?.trim() : undefined;
  if (text === undefined || text === "") {
    if (cert !== undefined) return undefined;
    throw new Error(`cannot add ${name}: it needs a key (--key-file FILE, or the key on standard input)`);
  }
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new Error("cannot use what is on standard input as a key: there must be one word and nothing else");
  return store.writeKey(name, text);
}

function addAddCommand(contexts: Command, ports: Ports): void {
  const { io, contexts: store, given } = ports;
  contexts
    .command("add")
    .description("add a host, and use it from now on if it is the first")
    .argument("<name>", "how it is called")
    .argument("<url>", "address of its service: https://web1:8470")
    .option("--use", "use it where no other is named")
    .option("--force", "put it in the place of one with this name")
    .json("print it as JSON")
    .notes(`Its key is in the file of --key-file, or comes on standard input and is kept in a file that only you can read.
--cacert, --cert and --key are kept with it, by their paths.`)
    .action(async (name: string, url: string, options: { use?: true; force?: true; json?: true }, command: Command) => {
      assertName(name);
      const address = asAddress(url);
      const known = store.read();
      if (Object.hasOwn(known.all, name) && !options.force)
        throw new Error(`cannot add ${name}: there is one of this name (--force puts this one in its place)`);
      const keyFile = await keyFileFor(name, ports, command);
      const { cacert, cert, key } = given(command);
      const absolute = (path: string | undefined) => (path === undefined ? undefined : resolve(path));
      const context: Context = {
        url: address,
        ...defined({ keyFile, cacert: absolute(cacert), cert: absolute(cert), certKey: absolute(key) }),
      };
      const isUsed = options.use === true || Object.keys(known.all).length === 0;
      store.write({ current: isUsed ? name : known.current, all: { ...known.all, [name]: context } });
      if (options.json) return printJson(io, listed(name, context, isUsed || known.current === name));
      io.out(`added ${name}${isUsed ? ", which is used from now on" : ""} (steward context test ${name} asks it)\n`);
    });
}

function addContextList(contexts: Command, ports: Ports): void {
  const { io, contexts: store } = ports;
  valueCommand(ports, contexts.presetCommand("list").description("all contexts"), {
    json: "print them as JSON",
    make() {
      const { all, current } = store.read();
      const known = Object.entries(all).map(([name, context]) => listed(name, context, name === current));
      return { current: current ?? localName, contexts: known };
    },
    print(_, { contexts: known }) {
      if (known.length === 0) return io.out("no context yet: commands ask the service of this host\n");
      printTable(io, known, {
        "": ({ current }) => (current ? "*" : ""),
        context: ({ name }) => name,
        address: ({ url }) => url,
        key: (each) => each.key_file ?? `certificate ${each.cert}`,
        trusts: ({ cacert }) => cacert ?? "",
      });
    },
  });
}

function addContextChanges(contexts: Command, ports: Ports): void {
  const { io, contexts: store } = ports;
  const use = contexts
    .command("use")
    .description("use a context where no other is named")
    .argument("<name>", `its name; ${localName} for the service of this host`);
  valueCommand(ports, use, {
    json: "print which one is used as JSON",
    make(name: string) {
      const known = store.read();
      if (name !== localName) contextNamed(known, name);
      store.write({ current: name === localName ? undefined : name, all: known.all });
      return { current: name };
    },
    print: (_, { current: name }) =>
      io.out(`${name === localName ? "the service of this host" : name} is used from now on\n`),
  });
  contexts
    .command("remove")
    .description("forget a context, and the key that was kept for it")
    .argument("<name>", "its name")
    .json("print which one is gone, and which is used, as JSON")
    .action((name: string, options: { json?: boolean }) => {
      const known = store.read();
      const context = contextNamed(known, name);
      const { [name]: _, ...all } = known.all;
      const wasCurrent = known.current === name;
      const current = wasCurrent ? undefined : known.current;
      store.write({ current, all });
      store.removeKey(context);
      if (options.json) return printJson(io, { removed: name, current: current ?? localName });
      io.out(`removed ${name}${wasCurrent ? "; the service of this host is used from now on" : ""}\n`);
    });
}

const inShort = (scopes: readonly string[]): string =>
  scopes.length > 3 ? `${scopes.length} scopes` : scopes.join(" ");

function addTestCommand(contexts: Command, ports: Ports): void {
  const { io, contexts: store, finish, connectTo } = ports;
  const ask = async (context: string) => {
    const signal = AbortSignal.timeout(testTimeoutMs);
    try {
      const { client } = await connectTo(context, signal);
      const [{ name: key, scopes }, { version }] = await Promise.all([client.whoami(), client.getHealth()]);
      return { context, ok: true, answer: { version, key, scopes } } as const;
    } catch (error) {
      return { context, ok: false, error: explainError(error) } as const;
    }
  };
  const test = contexts
    .command("test")
    .description("ask hosts whether they answer, and whether they know the key")
    .argument("[names...]", "contexts; all when left out");
  valueCommand(ports, test, {
    json: "print the answers as JSON",
    async make(names: readonly string[]) {
      const known = store.read();
      for (const name of names) contextNamed(known, name);
      const tested = await Promise.all((names.length === 0 ? Object.keys(known.all) : names).map(ask));
      const bad = tested.filter(({ ok }) => !ok).length;
      const isNone = bad > 0 && bad === tested.length;
      finish(bad === 0 ? exitCode.fine : isNone ? exitCode.couldNotRun : exitCode.foundTrouble);
      return tested;
    },
    print(_, tested) {
      if (tested.length === 0) return io.out("no context yet\n");
      printTable(io, tested, {
        context: ({ context }) => context,
        result: (each) => (each.ok ? { text: "answers", style: "green" } : { text: oneLine(each.error), style: "red" }),
        version: (each) => (each.ok ? each.answer.version : ""),
        key: (each) => (each.ok ? each.answer.key : ""),
        scopes: (each) => (each.ok ? inShort(each.answer.scopes) : ""),
      });
    },
  });
}

export function addContextCommands(program: Command, ports: Ports): void {
  const contexts = program.command("context").description("hosts that commands can ask instead of this one");
  addContextList(contexts, ports);
  addAddCommand(contexts, ports);
  addContextChanges(contexts, ports);
  addTestCommand(contexts, ports);
}
