import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { NoLists } from "../rpm/offers.ts";
import { failureReason } from "./output.ts";
import type { DnfPlaces } from "./places.ts";

/**
 * Words of every question: the lists on disk are what counts, nothing is downloaded. Plugins may talk, and the history is
 * the only log of what is asked.
 */
const onlyAsking = ["--cacheonly", "--quiet", "--setopt=exit_on_lock=1", "--setopt=logfilelevel=0"] as const;
/** Questions about what is installed: no list is needed. */
export const withoutRepositories = "--disablerepo=*";

export interface Asking {
  /** @throws NoLists; CommandFailed where dnf does not answer. */
  readonly ask: (words: readonly string[], signal: AbortSignal) => Promise<string>;
  /** Whatever the answer is. */
  readonly tryAsking: (words: readonly string[], signal: AbortSignal) => Promise<CommandResult>;
}

/** Asks dnf. */
export function createAsking({ exec, places }: { readonly exec: Exec; readonly places: DnfPlaces }): Asking {
  const tryAsking: Asking["tryAsking"] = async (words, signal) => {
    const options = { signal, timeoutMs: 120_000, maxOutputBytes: 64 * 1024 * 1024 };
    const result = await exec([...places.dnf, ...onlyAsking, ...words], options);
    if (result.truncated) throw new CommandFailed("cannot ask dnf: its answer has no end");
    if (/^Error: Cache-only enabled but no cache for /m.test(result.stderr))
      throw new NoLists(`cannot ask dnf: ${failureReason(result.stderr, result.exitCode)}`);
    return result;
  };
  return {
    tryAsking,
    async ask(words, signal) {
      const { exitCode, stdout, stderr } = await tryAsking(words, signal);
      // 100 says that there are updates.
      if (exitCode !== 0 && exitCode !== 100)
        throw new CommandFailed(`cannot ask dnf: ${failureReason(stderr, exitCode)}`);
      return stdout;
    },
  };
}
