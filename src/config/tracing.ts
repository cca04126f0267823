import type { Fault } from "./faults.ts";
import type { Settings } from "./settings.ts";

const isHttpUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:");
};

/** What is wrong with the settings of traces. */
export function tracingFaults(
  { tracing }: Pick<Settings, "tracing">,
  faultAt: (path: readonly string[], message: string) => Fault,
): readonly Fault[] {
  const { endpoint } = tracing ?? {};
  if (endpoint === undefined || isHttpUrl(endpoint)) return [];
  return [faultAt(["tracing", "endpoint"], "must be an address such as http://127.0.0.1:4318")];
}
