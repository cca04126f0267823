import { accessSync, closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { createClient } from "#client/index.ts";
import { type Context, type ContextStore, type Contexts, chooseContext, contextNamed } from "./contexts.ts";
import { NoKey } from "./errors.ts";
import type { Connection, ConnectOptions } from "./ports.ts";
import { type CertificateOptions, fetchWith, givenCertificates, useCertificates } from "./tls.ts";

/** How the service is found, as given on the command line. */
export interface ServiceOptions {
  readonly url?: string;
  readonly keyFile?: string;
  /** A certificate to trust, and one to be known by with its private key. */
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
  /** A service of another host by its name (contexts.ts). */
  readonly context?: string;
}

/** What the local service would use by itself. */
export interface LocalService {
  readonly url: string;
  readonly adminKeyFile: string;
}

/** Keys as the service makes them. */
const keyShape = /^stw_[0-9A-Za-z]{8}_[0-9A-Za-z]+$/;

/** What is no key is not sent: the error that came of it would show it, and others may read that. */
function oneWord(text: string, from: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new Error(`cannot use the key in ${from}: there must be one word and nothing else`);
}

const readText = (path: string, read: (path: string) => string): string => {
  try {
    return read(path);
  } catch (error) {
    throw new Error(`cannot read the key file ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
};

/** The key in a file, or a pipe, that the person named. */
const readKey = (path: string): string =>
  oneWord(
    readText(path, (each) => readFileSync(each, "utf8")),
    path,
  );

const mostKeyBytes = 4096;

/** Reads a file that somebody with fewer rights may have put there: no link, and nothing that never ends. */
function readForeign(path: string): string {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile() || stat.size > mostKeyBytes) throw new Error("it is not a file with a key");
    return readFileSync(handle, "utf8");
  } finally {
    closeSync(handle);
  }
}

const isReadable = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};

interface ServiceSource {
  readonly options: ServiceOptions;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly local: () => Promise<LocalService>;
  readonly contexts: Pick<ContextStore, "read">;
}

/** The context that is meant, if any is. */
async function findContext({ options, environment, contexts }: ServiceSource): Promise<Context | undefined> {
  let known: Promise<Contexts> | undefined;
  const read = (): Promise<Contexts> => {
    known ??= contexts.read();
    return known;
  };
  const name = await chooseContext(options, environment, async () => (await read()).current);
  return name === undefined ? undefined : contextNamed(await read(), name);
}

/** Whether a service is named at all; otherwise it is that of this host. */
export async function isNamed(source: ServiceSource): Promise<boolean> {
  const { options, environment } = source;
  const isAddress = options.url !== undefined || environment["STEWARD_URL"] !== undefined;
  return isAddress || (await findContext(source)) !== undefined;
}

/** Address and key of a context. */
function serviceOf(context: Context, { keyFile = context.keyFile }: ServiceOptions): Pick<Connection, "url" | "key"> {
  return { url: context.url, key: keyFile === undefined ? undefined : readKey(keyFile) };
}

/** The certificates of a context; those of the environment are meant for another service. */
const certificatesOf = ({ cacert, cert, certKey }: Context, given: ServiceOptions): CertificateOptions => ({
  cacert: given.cacert ?? cacert,
  ...(given.cert === undefined ? { cert, key: certKey } : { cert: given.cert, key: given.key }),
});

/**
 * Address and key of the named service, else of the local one with its admin key.
 * @throws Error when there is no key to be had.
 */
async function findService({ options, environment, local }: ServiceSource): Promise<Pick<Connection, "url" | "key">> {
  const url = options.url ?? environment["STEWARD_URL"];
  if (options.keyFile !== undefined) return { url: url ?? (await local()).url, key: readKey(options.keyFile) };
  const text = environment["STEWARD_API_KEY"];
  if (text !== undefined) return { key: oneWord(text, "STEWARD_API_KEY"), url: url ?? (await local()).url };
  // The certificate says who asks; beside another key it would be refused.
  if (url !== undefined && givenCertificates(options, environment).cert !== undefined) return { url };
  const { url: localUrl, adminKeyFile } = await local();
  if (url !== undefined && new URL(url).origin !== new URL(localUrl).origin) {
    // The admin key of this host is for the service of this host, and for nobody else to see.
    throw new Error(`cannot find a key for ${url}: it is not the local service (use --key-file or STEWARD_API_KEY)`);
  }
  if (!isReadable(adminKeyFile)) {
    throw new NoKey(`cannot find a key: ${adminKeyFile} cannot be read (use --key-file or STEWARD_API_KEY)`);
  }
  const key = oneWord(readText(adminKeyFile, readForeign), adminKeyFile);
  // The file is the service's, which has fewer rights than who asks may have: it must not get to see what it puts in its place.
  if (!keyShape.test(key)) throw new Error(`cannot use the key in ${adminKeyFile}: it is none of this service's`);
  return { url: url ?? localUrl, key };
}

/**
 * A client of the service that is named, else of the local one.
 * @throws Error when there is no key to be had.
 */
export async function connect(source: ServiceSource & ConnectOptions): Promise<Connection> {
  const { options, environment, signal, fetch } = source;
  const context = await findContext(source);
  await useCertificates(
    context === undefined ? givenCertificates(options, environment) : certificatesOf(context, options),
  );
  const service = context === undefined ? await findService(source) : serviceOf(context, options);
  const given = { ...service, ...(signal && { signal }), ...(fetch && { fetch }) };
  return { ...given, client: createClient(given) };
}

/** The same for one of several services that this process asks: its certificates are for it alone. */
export async function connectToOne(source: ServiceSource & { readonly signal: AbortSignal }): Promise<Connection> {
  const { options, environment, signal } = source;
  const context = await findContext(source);
  const service = context === undefined ? await findService(source) : serviceOf(context, options);
  const certificates =
    context === undefined ? givenCertificates(options, environment) : certificatesOf(context, options);
  const given = { ...service, signal, fetch: await fetchWith(certificates) };
  return { ...given, client: createClient(given) };
}
