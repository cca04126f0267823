import { isLoopbackAddress } from "./address.ts";

const defaultKeep = "64MiB";
const unitBytes: Readonly<Record<string, number>> = { MiB: 2 ** 20, GiB: 2 ** 30 };
/** Where OTLP is received, by its specification. */
const defaultPorts = { grpc: 4317, http: 4318 } as const;

/** What of the settings is about receiving traces. */
export interface ReceiverSettings {
  readonly endpoint?: string;
  readonly receiver?: string;
  readonly ports?: { readonly grpc?: number; readonly http?: number };
  readonly keep?: string;
}

/** The ports at which traces are received. */
export const receiverPorts = ({ ports }: ReceiverSettings): { readonly grpc: number; readonly http: number } => ({
  ...defaultPorts,
  ...ports,
});

/** Reads a size as the settings write it (`64MiB`), whose form has been checked. */
export function toBytes(text: string): number {
  const [, count, unit = ""] = /^(\d+)([A-Za-z]+)$/.exec(text) ?? [];
  return Number(count) * (unitBytes[unit] ?? Number.NaN);
}

/** How large the file with the traces may be. */
export const keepBytes = ({ keep = defaultKeep }: ReceiverSettings): number => toBytes(keep);

/** Whether the collector is expected on this machine, at a port at which the service would receive traces itself. */
export function isOwnCollector(settings: ReceiverSettings): boolean {
  const url = URL.parse(settings.endpoint ?? "");
  if (url === null) return false;
  const { grpc, http } = receiverPorts(settings);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return [grpc, http].includes(Number(url.port)) && (host === "localhost" || isLoopbackAddress(host));
}
