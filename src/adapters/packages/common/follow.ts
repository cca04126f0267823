import { open } from "node:fs/promises";
import type { Clock } from "#kernel/clock.ts";
import { orUndefined } from "#kernel/errors.ts";

const betweenReadsMs = 250;
const chunkBytes = 64 * 1024;

/** Gives the lines of a file that another process writes, each once it is whole. */
function createLineReader(path: string, onLine: (line: string) => void) {
  const decoder = new TextDecoder();
  let position = 0;
  let rest = "";

  const take = (text: string): void => {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  };

  return {
    async read(): Promise<void> {
      const file = await orUndefined(open(path));
      if (file === undefined) return;
      try {
        for (;;) {
          const { buffer, bytesRead } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes, position);
          if (bytesRead === 0) return;
          position += bytesRead;
          take(decoder.decode(buffer.subarray(0, bytesRead), { stream: true }));
        }
      } finally {
        await file.close();
      }
    },
    end(): void {
      if (rest !== "") onLine(rest);
      rest = "";
    },
  };
}

export async function following<T>(
  path: string,
  onLine: ((line: string) => void) | undefined,
  clock: Pick<Clock, "sleep">,
  work: () => Promise<T>,
): Promise<T> {
  if (onLine === undefined) return work();
  const reader = createLineReader(path, onLine);
  const over = new AbortController();
  const follow = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await reader.read();
      await clock.sleep(betweenReadsMs, over.signal);
    }
    await reader.read();
    reader.end();
  };
  const [done, followed] = await Promise.allSettled([work().finally(() => over.abort()), follow()]);
  if (done.status === "rejected") throw done.reason;
  if (followed.status === "rejected") throw followed.reason;
  return done.value;
}
