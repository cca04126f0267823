import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse, stringify } from "yaml";
import { writeFileAtomic } from "#adapters/files/index.ts";
import { errorMessage, isNotFound } from "#kernel/errors.ts";
import { defined, isRecord } from "#kernel/values.ts";

export interface Context {
  readonly url: string;
  /** May be missing where a client certificate says who asks. */
  readonly keyFile?: string;
  /** Who vouches for its certificate, besides those that Node trusts. */
  readonly cacert?: string;
  readonly cert?: string;
  readonly certKey?: string;
}

export interface Contexts {
  readonly current: string | undefined;
  readonly all: Readonly<Record<string, Context>>;
}

export const localName = "local";
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const members = { url: "url", key_file: "keyFile", cacert: "cacert", cert: "cert", cert_key: "certKey" } as const;

/** @throws Error when a context cannot have this name. */
export function assertName(name: string): void {
  if (name === localName) throw new Error(`cannot name a context ${localName}: that is the service of this host`);
  if (!nameForm.test(name))
    throw new Error(
      `cannot name a context ${JSON.stringify(name)}: at most 64 letters, digits, ., _ and - are allowed`,
    );
}

/** Where contexts are: `$XDG_CONFIG_HOME/steward`, else `~/.config/steward`. */
function directoryOf(environment: Readonly<Record<string, string | undefined>>): string {
  const base = environment["XDG_CONFIG_HOME"];
  // A path that is not absolute does not count (XDG Base Directory Specification).
  if (base?.startsWith("/")) return join(base, "steward");
  return join(environment["HOME"] ?? "/", ".config", "steward");
}

function parseContext(name: string, value: unknown): Context {
  assertName(name);
  if (!isRecord(value)) throw new Error(`${name} must be a mapping with url and key_file or cert`);
  const known: Record<string, string> = {};
  for (const [member, text] of Object.entries(value)) {
    const field = Object.entries(members).find(([each]) => each === member)?.[1];
    if (field === undefined) throw new Error(`${name} has ${member}, which no context has`);
    if (typeof text !== "string") throw new Error(`${member} of ${name} must be a string`);
    known[field] = text;
  }
  const { url, ...rest } = known;
  if (url === undefined) throw new Error(`${name} needs url`);
  if (rest["keyFile"] === undefined && rest["cert"] === undefined) throw new Error(`${name} needs key_file or cert`);
  return { url, ...rest };
}

export function parseContexts(value: unknown): Contexts {
  if (value === null || value === undefined) return { current: undefined, all: {} };
  if (!isRecord(value)) throw new Error("it must have current and contexts");
  const { current, contexts = {} } = value;
  if (current !== undefined && typeof current !== "string") throw new Error("current must be a name");
  if (!isRecord(contexts)) throw new Error("contexts must be names with what each is");
  const all = Object.fromEntries(Object.entries(contexts).map(([name, each]) => [name, parseContext(name, each)]));
  return { current, all };
}

export function writtenContexts({ current, all }: Contexts): object {
  const contexts = Object.entries(all).map(([name, context]) => [
    name,
    defined(Object.fromEntries(Object.entries(members).map(([member, field]) => [member, context[field]]))),
  ]);
  return { ...defined({ current }), contexts: Object.fromEntries(contexts) };
}

function writePrivate(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileAtomic(path, text);
}

export type ContextStore = ReturnType<typeof createContextStore>;

export function createContextStore(environment: Readonly<Record<string, string | undefined>>) {
  const directory = directoryOf(environment);
  const file = join(directory, "contexts.yaml");
  const keys = join(directory, "keys");
  const faulty = (error: unknown): Error => new Error(`cannot use ${file}: ${errorMessage(error)}`, { cause: error });

  return {
    file,
    /** @throws Error when the file cannot be read or is malformed. */
    read: (): Contexts => {
      let text: string;
      try {
        text = readFileSync(file, "utf8");
      } catch (error) {
        if (isNotFound(error)) return { current: undefined, all: {} };
        throw faulty(error);
      }
      try {
        return parseContexts(parse(text));
      } catch (error) {
        throw faulty(error);
      }
    },
    write: (contexts: Contexts): void => writePrivate(file, stringify(writtenContexts(contexts))),
    /** Keeps a key that was given as text. @returns the path of its file. */
    writeKey: (name: string, key: string): string => {
      const path = join(keys, name);
      writePrivate(path, `${key}\n`);
      return path;
    },
    /** Removes a key that `writeKey` has written; other files stay. */
    removeKey: ({ keyFile }: Context): void => {
      if (keyFile !== undefined && dirname(keyFile) === keys) rmSync(keyFile, { force: true });
    },
  };
}

export function contextNamed({ all }: Contexts, name: string): Context {
  const found = Object.hasOwn(all, name) ? all[name] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(all);
  const there = names.length === 0 ? "there is none yet" : `there are ${names.join(", ")}`;
  throw new Error(`cannot find the context ${name}: ${there} (steward context add makes one)`);
}

/**
 * Which service is meant, by the first that names one: the command line (`--context` or `--url`); the environment
 * (`STEWARD_CONTEXT`, or `STEWARD_URL` and `STEWARD_API_KEY`); the current context.
 * @returns a context or `local`; undefined where address and key are given, or nothing is.
 * @throws Error where one level names two: the key of one must not go to the other.
 */
export function chooseContext(
  given: { readonly context?: string | undefined; readonly url?: string | undefined },
  environment: Readonly<Record<string, string | undefined>>,
  current: () => string | undefined,
): string | undefined {
  const known = (name: string | undefined): string | undefined => (name === "" ? undefined : name);
  if (given.context !== undefined) {
    if (given.url !== undefined)
      throw new Error("cannot tell which service is meant: --context and --url both name one (leave one out)");
    return known(given.context);
  }
  if (given.url !== undefined) return undefined;
  const named = environment["STEWARD_CONTEXT"];
  const url = environment["STEWARD_URL"];
  if (named !== undefined && named !== "") {
    if (url !== undefined)
      throw new Error("cannot tell which service is meant: STEWARD_CONTEXT and STEWARD_URL both name one (unset one)");
    return known(named);
  }
  if (url !== undefined || environment["STEWARD_API_KEY"] !== undefined) return undefined;
  const used = current();
  return known(used === localName ? undefined : used);
}

export const mayMeanSeveral = (argv: readonly string[]): boolean =>
  argv.some((word) => word === "--all" || word.includes(","));

const parsed = (url: string): URL | undefined => (URL.canParse(url) ? new URL(url) : undefined);

/** @throws Error where it says more than which host, which port, and which path behind a reverse proxy. */
export function assertBare(url: string): void {
  const address = parsed(url);
  // Anyone who uses the address reports one that does not parse.
  if (address === undefined) return;
  const { origin, username, password, search, hash } = address;
  if (username !== "" || password !== "" || search !== "" || hash !== "")
    throw new Error(`cannot use ${origin} with what stands around it: an address is such as https://web1:8470`);
}

/** The address as it is stored. @throws Error where it cannot be that of a service. */
export function asAddress(url: string): string {
  const address = parsed(url);
  if (address === undefined || !["http:", "https:"].includes(address.protocol))
    throw new Error(`cannot use ${JSON.stringify(url)}: an address is such as https://web1:8470`);
  assertBare(url);
  return url.replace(/\/+$/, "");
}
