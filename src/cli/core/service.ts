import { accessSync, constants, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isReachableByEverybody } from "#adapters/files/index.ts";
import { errnoCode, errorMessage, orElse } from "#kernel/errors.ts";
import { shellQuoted } from "#kernel/text.ts";
import {
  assertBare,
  type Context,
  type ContextStore,
  type Contexts,
  chooseContext,
  contextNamed,
  localName,
} from "../contexts/store.ts";
import { howToLook, NoKey, NoService } from "./errors.ts";
import type { AdminKey, Connection, LocalService, ServiceOptions } from "./ports.ts";
import {
  type CertificateOptions,
  givenCertificates,
  unixFetch,
  unixOrigin,
  unixPath,
  unixWebSocket,
} from "./transport.ts";

/** Options that say which service is asked. None is a secret: a key is named by its file. */
export const serviceFlags = {
  context: "--context",
  url: "--url",
  keyFile: "--key-file",
  cacert: "--cacert",
  cert: "--cert",
  key: "--key",
  overrideWindow: "--override-window",
  proposalReason: "--proposal-reason",
} as const satisfies Record<keyof ServiceOptions, string>;

/** A word quoted for a shell. */
export const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : shellQuoted(word));

const everybodyMay = [
  [0o004, "read"],
  [0o002, "change"],
] as const;

/** Undefined also for pipes, and for a file that anyone who reads it reports. */
const openFileWarning = (path: string): string | undefined =>
  orElse(() => {
    const real = realpathSync(path);
    const stat = statSync(real);
    const can = everybodyMay.filter(([bit]) => (stat.mode & bit) !== 0).map(([, verb]) => verb);
    if (!stat.isFile() || can.length === 0 || !isReachableByEverybody(real)) return undefined;
    return `warning: every user of this host can ${can.join(" and ")} ${path} (chmod o= ${quoted(path)})`;
  }, undefined);

/** Warns once of each file that everybody may read or change. */
export function createFileWarnings(err: (text: string) => void): (path: string) => void {
  const seen = new Set<string>();
  return (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    const warning = openFileWarning(path);
    if (warning !== undefined) err(`steward: ${warning}\n`);
  };
}

const keyShape = /^stw_[0-9A-Za-z]{8}_[0-9A-Za-z]+$/;

/** Anything else than one word is not sent: the error about it would show it, and others may read that. */
function oneWord(text: string, from: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new Error(`cannot use the key in ${from}: there must be one word and nothing else`);
}

const cannotRead = (path: string, error: unknown): Error =>
  new Error(`cannot read the key file ${path}: ${errorMessage(error)}`, { cause: error });

function readKey(path: string, usesFile: ServiceSource["usesFile"]): string {
  usesFile(path);
  try {
    return oneWord(readFileSync(path, "utf8"), path);
  } catch (error) {
    throw errnoCode(error) !== undefined ? cannotRead(path, error) : error;
  }
}

const isReadable = (path: string): boolean => orElse(() => accessSync(path, constants.R_OK) === undefined, false);

export interface ServiceSource {
  readonly options: ServiceOptions;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly local: () => Promise<LocalService>;
  readonly contexts: Pick<ContextStore, "read" | "file">;
  /** Called with each file that holds a secret, to check its permissions. */
  readonly usesFile: (path: string) => void;
}

export interface Meant {
  /** Undefined where address and key are given, or the local ones are meant. */
  readonly context: Context | undefined;
  readonly source: ServiceSource;
}

export function findMeant(source: ServiceSource): Meant {
  const { options, environment, contexts, usesFile } = source;
  let known: Contexts | undefined;
  const read = (): Contexts => {
    usesFile(contexts.file);
    known ??= contexts.read();
    return known;
  };
  const name = chooseContext(options, environment, () => read().current);
  if (name === undefined) return { context: undefined, source };
  // Address, key and certificates in the environment are those of another service.
  if (name === localName) return { context: undefined, source: { ...source, environment: {} } };
  return { context: contextNamed(read(), name), source };
}

/** Whether a service is named at all; otherwise it is that of this host. */
export function isNamed(given: ServiceSource): boolean {
  const { context, source } = findMeant(given);
  return context !== undefined || source.options.url !== undefined || source.environment["STEWARD_URL"] !== undefined;
}

function serviceOf(context: Context, { options, usesFile }: ServiceSource): Pick<Connection, "url" | "key"> {
  const { keyFile = context.keyFile } = options;
  assertBare(context.url);
  return { url: context.url, key: keyFile === undefined ? undefined : readKey(keyFile, usesFile) };
}

/** The certificates of a context; those in the environment belong to another service. */
const certificatesOf = ({ cacert, cert, certKey }: Context, given: ServiceOptions): CertificateOptions => ({
  cacert: given.cacert ?? cacert,
  ...(given.cert === undefined ? { cert, key: certKey } : { cert: given.cert, key: given.key }),
});

/** @throws Error when another user's program listens at the address. */
function assertOwn(address: string, holder: AdminKey["holder"]): void {
  if (typeof holder !== "number") return;
  throw new Error(
    `cannot ask the service: at ${address} listens another program, of user ${holder}, which is not shown the key (stop it, and start the service)`,
  );
}

const writableByOthers = 0o022;

/** Whether this user may open the socket, and only root or this user can have created it. */
function isOpenable(path: string): boolean {
  const own = new Set([0, process.getuid?.()]);
  return orElse(() => {
    const [dir, socket] = [lstatSync(dirname(path)), lstatSync(path)];
    if (!dir.isDirectory() || !own.has(dir.uid) || (dir.mode & writableByOthers) !== 0) return false;
    if (!socket.isSocket() || !own.has(socket.uid)) return false;
    accessSync(path, constants.W_OK);
    return true;
  }, false);
}

type Service = Pick<Connection, "url" | "key" | "allow" | "fetch" | "openSocket">;

const overSocket = (path: string, key?: string): Service => ({
  url: unixOrigin,
  key,
  fetch: unixFetch(path),
  openSocket: unixWebSocket(path),
});

/** The local service for somebody with a key: over its socket where there is one for this user. */
async function localWithKey({ options, environment, local }: ServiceSource, key: string): Promise<Service> {
  const { url, sockets } = await local();
  const path = hasCertificates(options, environment) ? undefined : sockets?.members.find(isOpenable);
  return path === undefined ? { url, key } : overSocket(path, key);
}

/** Certificates mean TLS. */
function hasCertificates(options: ServiceOptions, environment: ServiceSource["environment"]): boolean {
  const { cacert, cert } = givenCertificates(options, environment);
  return cacert !== undefined || cert !== undefined;
}

function givenKey({ options, environment, usesFile }: ServiceSource): string | undefined {
  if (options.keyFile !== undefined) return readKey(options.keyFile, usesFile);
  const text = environment["STEWARD_API_KEY"];
  return text === undefined ? undefined : oneWord(text, "STEWARD_API_KEY");
}

/**
 * Address and key of the named service, else of the local one: over the Unix socket that is for this user alone, else with its
 * admin key.
 * @throws Error when no key is found.
 */
async function findService(source: ServiceSource): Promise<Service> {
  const { options, environment, local } = source;
  const url = options.url ?? environment["STEWARD_URL"];
  const given = givenKey(source);
  const path = url === undefined ? undefined : unixPath(url);
  if (path !== undefined) return overSocket(path, given);
  if (url !== undefined) assertBare(url);
  if (given !== undefined) return url === undefined ? localWithKey(source, given) : { url, key: given };
  // The client certificate identifies the caller; beside another key it would be refused.
  if (url !== undefined && givenCertificates(options, environment).cert !== undefined) return { url };
  const { url: localUrl, sockets, adminKeyFile, readAdminKey } = await local();
  if (url === undefined && !hasCertificates(options, environment)) {
    const own = sockets?.administrator.find(isOpenable);
    if (own !== undefined) return overSocket(own);
  }
  if (url !== undefined && new URL(url).origin !== new URL(localUrl).origin) {
    // The admin key of this host is for the service of this host, and for nobody else to see.
    throw new Error(`cannot find a key for ${url}: it is not the local service (use --key-file or STEWARD_API_KEY)`);
  }
  if (!isReadable(adminKeyFile)) {
    throw new NoKey(`cannot find a key: ${adminKeyFile} cannot be read (use --key-file or STEWARD_API_KEY)`);
  }
  source.usesFile(adminKeyFile);
  const address = url ?? localUrl;
  const readOwnKey = (): Promise<AdminKey> =>
    readAdminKey(adminKeyFile, address).catch((error: unknown) => {
      throw cannotRead(adminKeyFile, error);
    });
  const { text: found, holder } = await readOwnKey();
  const key = oneWord(found, adminKeyFile);
  // The service writes the file, and may have fewer rights than the caller: it must not learn what it puts in its place.
  if (!keyShape.test(key)) throw new Error(`cannot use the key in ${adminKeyFile}: it does not belong to this service`);
  if (holder === "nobody")
    throw new NoService(`cannot reach the service: nothing listens at ${address} (${howToLook()})`);
  assertOwn(address, holder);
  return { url: address, key, allow: async () => assertOwn(address, (await readOwnKey()).holder) };
}

export function certificatesFor({ context, source: { options, environment, usesFile } }: Meant): CertificateOptions {
  const chosen = context === undefined ? givenCertificates(options, environment) : certificatesOf(context, options);
  const secret = chosen.key ?? chosen.cert;
  if (secret !== undefined) usesFile(secret);
  return chosen;
}

export const serviceFor = async ({ context, source }: Meant): Promise<Service> =>
  context === undefined ? findService(source) : serviceOf(context, source);
