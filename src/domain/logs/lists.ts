import type { logs } from "#contract/logs.ts";
import type { Context, Handlers } from "#contract/operation.ts";
import { missingScope } from "#domain/common/error.ts";
import type { JournalLists, JournalStorage, LogQuery } from "#domain/ports/journal.ts";
import type { LogReader, Reading } from "./reader.ts";

const momentText = (micros: number): string => {
  const seconds = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(Math.floor(micros % 1_000_000)).padStart(6, "0")}Z`;
};

/** What the journal says beside its entries: boots, fields and sizes. */
export function listHandlers(ports: {
  readonly reader: LogReader;
  readonly journal: JournalLists & Pick<JournalStorage, "size">;
  readonly readingOf: (context: Context) => Reading;
  /** The units whose entries a caller may read; undefined: all. */
  readonly visibleTo: (context: Context) => LogQuery["units"];
}): Omit<Handlers<typeof logs>, "listLogs"> {
  const { reader, journal, readingOf, visibleTo } = ports;
  return {
    async listLogBoots(_, context) {
      const units = visibleTo(context);
      const boots = await reader.ask((signal) => journal.boots(units, signal), readingOf(context));
      return {
        boots: boots.map(({ index, id, first, last }) => ({
          index,
          boot_id: id,
          first: momentText(first),
          last: momentText(last),
        })),
      };
    },
    async listLogFields(_, context) {
      const units = visibleTo(context);
      const names = await reader.ask((signal) => journal.fieldNames(units, signal), readingOf(context));
      return { names: [...names] };
    },
    async listLogFieldValues({ params: { name } }, context) {
      const units = visibleTo(context);
      return reader.ask((signal) => journal.fieldValues(name, units, signal), readingOf(context));
    },
    async getLogUsage(_, context) {
      if (visibleTo(context) !== undefined) throw missingScope("logs:read", context.caller?.scopes ?? []);
      const size = await reader.ask(journal.size, readingOf(context));
      return { disk_bytes: size?.diskBytes ?? 0, memory_bytes: size?.memoryBytes ?? 0, files: size?.files ?? 0 };
    },
  };
}
