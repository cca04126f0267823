import type { CommandOptions } from "#adapters/exec/index.ts";
import type { RpmLists } from "./catalog.ts";
import { type DescribedRpm, describedCount, describedOf, listsFormat } from "./described.ts";
import { nevraOf } from "./names.ts";
import { orWithoutLists } from "./offers.ts";
import { createMarks, createRecordReader, parseRecords } from "./records.ts";

/** The lists as every dnf tells of them. */
export function createRepoqueryLists(host: {
  /** Runs dnf. @throws NoLists. */
  readonly ask: (
    words: readonly string[],
    signal: AbortSignal,
    options?: Pick<CommandOptions, "onOutput">,
  ) => Promise<string>;
  /** The word with which what is held is in the lists as well. */
  readonly withHeld: string;
}): RpmLists {
  const { ask, withHeld } = host;

  const listed = async (
    name: string,
    words: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly DescribedRpm[]> => {
    const marks = createMarks();
    const query = ["repoquery", `--queryformat=${listsFormat(marks)}`, "--available", ...words, "--", name];
    const text = await orWithoutLists(ask(query, signal), "");
    return parseRecords(text, marks, describedCount)
      .map(describedOf)
      .filter((each) => each.name === name);
  };

  return {
    async each(take, signal) {
      const marks = createMarks();
      const reader = createRecordReader(marks, describedCount, (fields) => take(describedOf(fields)));
      const query = ["repoquery", `--queryformat=${listsFormat(marks)}`, "--available", "--latest-limit=1"];
      await ask(query, signal, { onOutput: reader.take });
      reader.end();
    },

    async named(name, signal) {
      const versions = await listed(name, [withHeld], signal);
      const candidates = versions.length === 0 ? [] : await listed(name, [], signal);
      const records = new Map(versions.map((each) => [nevraOf(each), each]));
      return { versions, candidates, described: (found) => records.get(nevraOf(found)) };
    },
  };
}
