import { ApiError, mayPass } from "#client/errors.ts";
import { errorMessage } from "#kernel/errors.ts";
import { lowerFirst } from "#kernel/text.ts";
import { type JsonObject, recordsIn } from "#kernel/values.ts";
import { oneLine, severalLines } from "../output/output.ts";
import { withLocalTimes } from "../output/text.ts";

export class NoKey extends Error {
  override readonly name = "NoKey";
}

export class NoService extends Error {
  override readonly name = "NoService";
}

/** How to look at a service that does not answer. @param where its host, if it is another one: ` on web-1` */
export const howToLook = (where = ""): string =>
  `is it running? systemctl status steward, journalctl -u steward${where}`;

/** Ended by Ctrl-C; all messages have been printed. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** A command about the state of a unit ends with its own exit code where there is no such unit. */
export class UnknownUnit extends Error {
  override readonly name = "UnknownUnit";
}

/** The service does not start before an administrator has decided something; starting it again does not help. */
export class NeedsDecision extends Error {
  override readonly name = "NeedsDecision";
}

/** Whether the service could not be reached, as opposed to refusing something. */
export const isOutOfReach = (error: unknown): boolean => error instanceof TypeError && error.cause instanceof Error;

/** Errors that may be temporary; a proxy has error pages of its own while the service restarts. */
export const isPassing = (error: unknown): boolean =>
  isOutOfReach(error) || (error instanceof ApiError && mayPass(error));

export const isInterrupted = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

/** Whether nothing listens at the address or the host does not exist: no request was sent. */
export const isRefused = (error: unknown): boolean => {
  if (error instanceof NoService) return true;
  const cause = error instanceof TypeError ? error.cause : undefined;
  return (
    cause instanceof Error &&
    "code" in cause &&
    ["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"].includes(String(cause.code))
  );
};

const isTimeout = (error: unknown): boolean => error instanceof DOMException && error.name === "TimeoutError";

function connectionFailure(cause: Error): string {
  // Several addresses were tried, each with its own reason.
  if (cause instanceof AggregateError) return [...new Set(cause.errors.map((each) => errorMessage(each)))].join(", ");
  return cause.message;
}

/** What helps where nothing listens, which is for the unit of the service to say. */
function unitAdvice(cause: Error): string {
  const tried = cause instanceof AggregateError ? cause.errors : [cause];
  const faults = tried.map(({ code, address }: NodeJS.ErrnoException & { readonly address?: string }) => ({
    isRefused: code === "ECONNREFUSED" || code === "ENOENT",
    isHere: address === undefined || /^(127\.|::1$|\/)/.test(address),
  }));
  if (!faults.every(({ isRefused }) => isRefused)) return "is it running?";
  return howToLook(faults.every(({ isHere }) => isHere) ? "" : " on its host");
}

/** Node's own messages end with advice about options of Node. */
const untrusted: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is of an authority that this host does not know",
  UNABLE_TO_GET_ISSUER_CERT: "its certificate is of an authority that this host does not know",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is of an authority that this host does not know",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is of an authority that this host does not know",
};

function distrustOf(cause: Error): string | undefined {
  const code = "code" in cause ? String(cause.code) : "";
  const words = Object.hasOwn(untrusted, code) ? untrusted[code] : undefined;
  if (words === undefined) return undefined;
  const remedy = /VALID|EXPIRED/.test(code)
    ? "it must be renewed there"
    : "--cacert FILE names the certificates to trust";
  return `cannot trust the service: ${words} (${remedy})`;
}

const longestLine = 2000;

/** An error as text for people, on one line unless it names several faults. It may come from the other end of a connection. */
export function explainError(error: unknown): string {
  return severalLines(messageOf(error))
    .split("\n")
    .map((line) => (line.length > longestLine ? `${line.slice(0, longestLine)}…` : line))
    .join("\n");
}

/** How to get what a key lacks; nothing where the scope is not a word that a shell takes as it is. */
function scopeRemedy({ code, details }: ApiError): string {
  const scope = details?.["required_scope"];
  if (code !== "FORBIDDEN" || typeof scope !== "string" || !/^[\w:.@-]+$/.test(scope)) return "";
  return `: sudo steward keys create NAME --scope ${scope} makes a key that has it, on its host`;
}

/** What is wrong with a request beside what its message says, a line for each. */
function furtherFaults({ details }: ApiError): readonly string[] {
  const { field, issue, faults }: JsonObject = details ?? {};
  return recordsIn(faults)
    .filter((fault) => fault["field"] !== field || fault["issue"] !== issue)
    .map((fault) => {
      const { did_you_mean: meant } = fault;
      const hint = typeof meant === "string" ? ` (did you mean ${meant}?)` : "";
      return `  ${oneLine(`${String(fault["field"])}: ${lowerFirst(String(fault["issue"]))}${hint}`)}`;
    });
}

function messageOf(error: unknown): string {
  if (error instanceof ApiError) {
    const request = error.requestId === undefined ? "" : `, request ${error.requestId}`;
    const first = oneLine(`${inOwnWords(error.message)} (${error.code}${request})${scopeRemedy(error)}`);
    return [first, ...furtherFaults(error)].join("\n");
  }
  if (error instanceof TypeError && error.cause instanceof Error)
    return (
      distrustOf(error.cause) ??
      oneLine(`cannot reach the service: ${connectionFailure(error.cause)} (${unitAdvice(error.cause)})`)
    );
  if (error instanceof TypeError && "code" in error && error.code === "ERR_INVALID_URL") {
    // The message has the path of the request too.
    const given = oneLine(String("base" in error ? error.base : "input" in error ? error.input : ""));
    return `cannot use the address ${given}: not a URL (such as http://127.0.0.1:8470)`;
  }
  if (isTimeout(error)) return "cannot reach the service: no answer in time (--timeout says how long to wait)";
  return error instanceof Error ? (distrustOf(error) ?? error.message) : String(error);
}

/** What the service advises callers of its interface to send, and what does it on the command line. */
const spellings: readonly (readonly [RegExp, string])[] = [
  [/\bconfirm: true\b/g, "--confirm"],
  [/\ballow_downgrade\b/g, "--allow-downgrade"],
  [/\bX-Window-Override\b/g, "--override-window"],
  [/\bask again with \?dry_run=true, and send the token of that plan\b/g, "run it again"],
  [/\bGET \/updates\/check\b/g, "steward updates"],
  [/\bGET \/auth\/passkeys\b/g, "steward passkeys"],
  [/\bPOST \/auth\/keys\b/g, "steward keys create"],
];

/** A message of the service in the words of the command line, with local times. */
export const inOwnWords = (message: string): string =>
  withLocalTimes(spellings.reduce((text, [theirs, own]) => text.replaceAll(theirs, own), message));
