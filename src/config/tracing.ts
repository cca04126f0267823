import type { Fault, FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";
import { isLoopbackAddress, toBytes } from "./text.ts";

const defaultKeep = "64MiB";
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

export const keepBytes = ({ keep = defaultKeep }: ReceiverSettings): number => toBytes(keep);

/** Whether the configured collector would be this service's own receiver. */
export function isOwnCollector(settings: ReceiverSettings): boolean {
  const url = URL.parse(settings.endpoint ?? "");
  if (url === null) return false;
  const { grpc, http } = receiverPorts(settings);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return [grpc, http].includes(Number(url.port)) && (host === "localhost" || isLoopbackAddress(host));
}

const isHttpUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:");
};

export function tracingFaults({ tracing }: Pick<Settings, "tracing">, faultAt: FaultAt): readonly Fault[] {
  const { endpoint, receiver } = tracing ?? {};
  if (endpoint === undefined) return [];
  const fault = (message: string): readonly Fault[] => [faultAt(["tracing", "endpoint"], message)];
  if (!isHttpUrl(endpoint)) return fault("must be an address such as http://127.0.0.1:4318");
  if (receiver === "on" && isOwnCollector({ ...tracing }))
    return fault("is where this service itself receives traces: remove it, or set other tracing.ports");
  return [];
}
