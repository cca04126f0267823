import { setTimeout } from "node:timers/promises";
import { completeNames } from "#cli/completion/names.ts";
import { localService } from "./local-service.ts";

/** Of the whole process; a person waits at a prompt. */
const usualMs = 190;
/** What the service gets where the start alone takes long, since the processors are slow or busy. */
const leastMs = 100;
const longestMs = 60_000;

function remainingMs(given: string | undefined): number {
  const limit = /^\d{1,15}$/.test(given ?? "") ? Math.min(Number(given), longestMs) : usualMs;
  return Math.max(limit - performance.now(), leastMs);
}

/** The hidden command that completion of shells runs: lines to offer, and nothing where there are none in time. */
export async function namesToOffer(argv: readonly string[]): Promise<string> {
  const { env: environment } = process;
  const ending = new AbortController();
  const late = setTimeout(remainingMs(environment["STEWARD_COMPLETION_MS"]), []);
  const names = completeNames(argv, {
    environment,
    localService: () =>
      localService(environment, async () => (await import("./load-settings.ts")).loadSettings(environment)),
    signal: ending.signal,
  }).catch(() => []);
  const lines = await Promise.race([names, late]);
  ending.abort();
  return lines.map((line) => `${line}\n`).join("");
}
