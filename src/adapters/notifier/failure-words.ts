import { errnoCode } from "#kernel/errors.ts";

/** Failures of the network in words that name no address. */
const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was cut",
  EPIPE: "the connection was cut",
  ETIMEDOUT: "no answer in time",
  ENOTFOUND: "its name is not known",
  EAI_AGAIN: "its name cannot be resolved at present",
  EHOSTUNREACH: "there is no way to it",
  ENETUNREACH: "there is no way to it",
};

/** Where several addresses were tried, the first failure speaks for all. */
const firstCode = (error: unknown): string | undefined =>
  error instanceof AggregateError ? firstCode(error.errors[0]) : errnoCode(error);

const isTlsCode = (code: string): boolean =>
  /CERT|^ERR_(?:TLS|SSL)|^(?:UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH)|^EPROTO$/.test(code);

/** Why a connection failed, by its code alone: messages of the system name the address. */
export function failureWords(error: unknown): string {
  const code = firstCode(error);
  if (code === undefined) return "it cannot be reached";
  if (isTlsCode(code)) return `its TLS is not to be trusted (${code})`;
  return words[code] ?? `it cannot be reached (${code})`;
}
