import type { Fault } from "./faults.ts";
import { isOwnCollector } from "./receiver.ts";
import type { Settings } from "./settings.ts";

const isHttpUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:");
};

export function tracingFaults(
  { tracing }: Pick<Settings, "tracing">,
  faultAt: (path: readonly string[], message: string) => Fault,
): readonly Fault[] {
  const { endpoint, receiver } = tracing ?? {};
  if (endpoint === undefined) return [];
  const fault = (message: string): readonly Fault[] => [faultAt(["tracing", "endpoint"], message)];
  if (!isHttpUrl(endpoint)) return fault("must be an address such as http://127.0.0.1:4318");
  if (receiver === "on" && isOwnCollector({ ...tracing }))
    return fault("is where this service receives traces itself: leave it out, or set other tracing.ports");
  return [];
}
