import type { LogList } from "#contract/logs.ts";
import type { Journal, KernelLog } from "#domain/ports/journal.ts";
import { holdsJournal } from "./storage.ts";

const limit = 1000;

export function createKernelLog(ports: { journal: Pick<Journal, "query">; dir: string | undefined }): KernelLog {
  const { journal, dir } = ports;
  return {
    async matching(pattern, sinceMicros, signal) {
      if (!(await holdsJournal(dir))) return undefined;
      const answer = await journal.query(
        {
          units: ["kernel"],
          since: sinceMicros,
          until: Number.MAX_SAFE_INTEGER,
          priority: undefined,
          identifier: undefined,
          boot: undefined,
          grep: pattern,
          cursor: undefined,
          order: "asc",
          limit,
        },
        signal,
      );
      const { logs }: LogList = JSON.parse(new TextDecoder().decode(answer.bytes));
      return logs.map(({ timestamp, message }) => ({ timestamp, message }));
    },
  };
}
