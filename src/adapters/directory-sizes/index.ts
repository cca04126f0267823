import { posix } from "node:path";
import type { TakeLook } from "#adapters/exec/look.ts";
import {
  type DirectorySizes,
  DirectoryUnavailable,
  type MeasuredDirectory,
  NoDirectory,
} from "#domain/ports/disk-usage.ts";
import { createSlots } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { sizesOfDirectory } from "./walk.ts";

const longestMs = 20_000;
const mostEntries = 1_000_000;
/** Each is a process that keeps a processor and a disk busy. */
const walksAtOnce = 2;

/** Sizes of directories as this process may read them. Any directory may never answer, such as one of a server of NFS. */
export function createDirectorySizes(ports: {
  readonly look: TakeLook;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly mountinfo?: string;
  readonly most?: { readonly entries: number; readonly ms: number };
}): DirectorySizes {
  const { look, clock, mountinfo = "/proc/self/mountinfo", most = { entries: mostEntries, ms: longestMs } } = ports;
  const slots = createSlots(walksAtOnce);

  return {
    async measure(given, options, signal): Promise<MeasuredDirectory> {
      const path = posix.resolve(given);
      const endsAt = clock.monotonicMs() + most.ms;
      const { answers, silent } = await slots(() => {
        const ms = Math.max(0, endsAt - clock.monotonicMs());
        return look(sizesOfDirectory, { ...options, path, mountinfo, most: { ...most, ms } }, signal);
      }, signal);
      const answer = answers.get(path);
      if (answer === undefined) {
        const below = [...silent].find((each) => each.startsWith(path === "/" ? path : `${path}/`));
        const where = silent.has(path) ? path : (below ?? path);
        throw new DirectoryUnavailable(`${where} gives no answer`, { missing: where, retryable: true });
      }
      if ("none" in answer) throw new NoDirectory(answer.none);
      if ("unavailable" in answer) throw new DirectoryUnavailable(answer.unavailable, answer.details);
      return answer.measured;
    },
  };
}
