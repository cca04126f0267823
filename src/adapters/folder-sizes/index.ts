import { posix } from "node:path";
import type { TakeLook } from "#adapters/exec/look.ts";
import { type FolderSizes, FolderUnavailable, type MeasuredFolder, NoFolder } from "#domain/ports/disk-usage.ts";
import { createSlots } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { sizesOfFolder } from "./walk.ts";

const longestMs = 20_000;
const mostEntries = 1_000_000;
/** Each is a process that keeps a processor and a disk busy. */
const walksAtOnce = 2;

/** Sizes of folders as this process may read them. Any folder may never answer, such as one of a server of NFS. */
export function createFolderSizes(ports: {
  readonly look: TakeLook;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly mountinfo?: string;
  readonly most?: { readonly entries: number; readonly ms: number };
}): FolderSizes {
  const { look, clock, mountinfo = "/proc/self/mountinfo", most = { entries: mostEntries, ms: longestMs } } = ports;
  const slots = createSlots(walksAtOnce);

  return {
    async measure(given, options, signal): Promise<MeasuredFolder> {
      const path = posix.resolve(given);
      const endsAt = clock.monotonicMs() + most.ms;
      const { answers, silent } = await slots(() => {
        const ms = Math.max(0, endsAt - clock.monotonicMs());
        return look(sizesOfFolder, { ...options, path, mountinfo, most: { ...most, ms } }, signal);
      }, signal);
      const answer = answers.get(path);
      if (answer === undefined) {
        const below = [...silent].find((each) => each.startsWith(path === "/" ? path : `${path}/`));
        const where = silent.has(path) ? path : (below ?? path);
        throw new FolderUnavailable(`${where} gives no answer`, { missing: where, retryable: true });
      }
      if ("none" in answer) throw new NoFolder(answer.none);
      if ("unavailable" in answer) throw new FolderUnavailable(answer.unavailable, answer.details);
      return answer.measured;
    },
  };
}
