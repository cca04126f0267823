import type { Probe, ProbeResult } from "#domain/ports/probe.ts";
import { errorMessage } from "#kernel/errors.ts";

/** The line that `systemctl status` shows. */
export function statusWords(url: string, components: Readonly<Record<string, ProbeResult>>): string {
  const missing = Object.entries(components).flatMap(([name, { healthy, expected }]) =>
    expected && !healthy ? [name] : [],
  );
  return missing.length === 0 ? `Ready on ${url}` : `Ready on ${url}, unhealthy: ${missing.join(", ")}`;
}

/**
 * Why the service needs a restart, if it does: its own address does not answer in time. Where others were answered meanwhile, or all
 * connections are in use, it is a flood, which a restart would make worse.
 */
export const checkOwnAddress =
  (endpoint: Probe, load: { readonly isFull: () => boolean; readonly answered: () => number }) =>
  async (signal: AbortSignal): Promise<string | undefined> => {
    const before = load.answered();
    const { healthy, reason = "own address does not answer" } = await endpoint(signal).catch((error: unknown) => ({
      healthy: false,
      reason: errorMessage(error),
    }));
    return healthy || load.isFull() || load.answered() > before ? undefined : reason;
  };
