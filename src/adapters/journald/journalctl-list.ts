import type { JournalField } from "#contract/log-entry.ts";
import type { JournalRecord } from "./journalctl-entry.ts";
import { createValueList, type FileQuestion, type ListAnswer } from "./lists.ts";

/** Gathers an answer from the entries that journalctl prints. */
export function createListing(question: FileQuestion): {
  readonly add: (record: JournalRecord) => void;
  /** @param boots ids of all boots in their order, where boots are asked for. */
  readonly answer: (boots: readonly string[]) => ListAnswer;
} {
  const { what } = question;
  const moments = new Map<string, { first: number; last: number }>();
  const names = new Set<string>();
  const values = createValueList();
  const bytesOf = ({ text, base64 = "" }: JournalField): Buffer =>
    text === undefined ? Buffer.from(base64, "base64") : Buffer.from(text);
  return {
    add({ location: { bootId, realtime }, raw }) {
      if (what === "boots") {
        const { first, last } = moments.get(bootId) ?? { first: realtime, last: realtime };
        moments.set(bootId, { first: Math.min(first, realtime), last: Math.max(last, realtime) });
        return;
      }
      for (const field of raw()) {
        if (what === "names") names.add(field.name);
        else if (field.name === question.name) values.add(bytesOf(field));
      }
    },
    answer(boots) {
      if (what === "names") return { what, names: [...names].sort() };
      if (what === "values") return { what, values: values.list() };
      const found = boots.flatMap((id, position) => {
        const seen = moments.get(id);
        return seen === undefined ? [] : [{ index: position - boots.length + 1, id, ...seen }];
      });
      return { what, boots: found };
    },
  };
}
