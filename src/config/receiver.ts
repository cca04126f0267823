import { isLoopbackAddress } from "./address.ts";

const defaultKeep = "64MiB";
const unitBytes: Readonly<Record<string, number>> = { MiB: 2 ** 20, GiB: 2 ** 30 };
/** Default ports of OTLP. */
const defaultPorts = { grpc: 4317, http: 4318 } as const;

export interface ReceiverSettings {
  readonly endpoint?: string;
  readonly receiver?: string;
  readonly ports?: { readonly grpc?: number; readonly http?: number };
  readonly keep?: string;
}

export const receiverPorts = ({ ports }: ReceiverSettings): { readonly grpc: number; readonly http: number } => ({
  ...defaultPorts,
  ...ports,
});

/** Parses a size (`64MiB`) that the schema has checked. */
export function toBytes(text: string): number {
  const [, count, unit = ""] = /^(\d+)([A-Za-z]+)$/.exec(text) ?? [];
  return Number(count) * (unitBytes[unit] ?? Number.NaN);
}

export const keepBytes = ({ keep = defaultKeep }: ReceiverSettings): number => toBytes(keep);

/** Whether the configured collector would be this service's own receiver. */
export function isOwnCollector(settings: ReceiverSettings): boolean {
  const url = URL.parse(settings.endpoint ?? "");
  if (url === null) return false;
  const { grpc, http } = receiverPorts(settings);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return [grpc, http].includes(Number(url.port)) && (host === "localhost" || isLoopbackAddress(host));
}
