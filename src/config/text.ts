import { isIP } from "node:net";

/** `host:port`, with an IPv6 address in brackets; undefined when the text is not of that form. */
export function parseListen(text: string): { readonly host: string; readonly port: number } | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text);
  const [, bracketed, plain, digits] = match ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535) return undefined;
  if (bracketed !== undefined && isIP(bracketed) !== 6) return undefined;
  return { host, port };
}

export const isLoopbackAddress = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

export function isAddressOrNetwork(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

export function localUrl(
  { listen, tls }: { readonly listen: { readonly host: string; readonly port: number }; readonly tls: unknown },
  port = listen.port,
): string {
  const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  const host = everywhere[listen.host] ?? listen.host;
  return `${tls === "off" ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a time (`30s`) that the schema has checked. */
export function toMs(text: string): number {
  const [, count, unit = ""] = /^(\d+)([a-z]+)$/.exec(text) ?? [];
  return Number(count) * (unitMs[unit] ?? Number.NaN);
}

const unitBytes: Readonly<Record<string, number>> = {
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** Parses a size (`64MiB`) that the schema has checked. */
export function toBytes(text: string): number {
  const [, count, unit = ""] = /^(\d+)([A-Za-z]+)$/.exec(text) ?? [];
  return Number(count) * (unitBytes[unit] ?? Number.NaN);
}
