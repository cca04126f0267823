import type { PackageVersion } from "#domain/ports/packages.ts";
import type { Described, Lists } from "../common/catalog.ts";
import { describedCount, describedOf, listsFormat } from "../common/rpm/described.ts";
import { nevraOf, withoutZeroEpoch } from "../common/rpm/names.ts";
import { orWithoutLists } from "../common/rpm/offers.ts";
import { createMarks, createRecordReader, parseRecords } from "../common/rpm/records.ts";
import type { Dnf, InstalledRpm } from "./dialect.ts";

/** The words of `repoquery` for it: none of these values has a bar in it. */
export const installedFormat = "%{name}|%{evr}|%{arch}|%{reason}|%{installsize}";
export const availableFormat = "%{name}|%{evr}|%{arch}|%{downloadsize}|%{installsize}";

const sizeOrZero = (text: string | undefined): number => (/^\d+$/.test(text ?? "") ? Number(text) : 0);
const fields = (text: string, count: number): readonly (readonly string[])[] =>
  text
    .split("\n")
    .map((line) => line.split("|"))
    .filter((line) => line.length === count && line[0] !== "" && line[1] !== "" && line[2] !== "");

export const parseInstalled = (text: string): readonly InstalledRpm[] =>
  fields(text, 5)
    .filter(([name]) => name !== "gpg-pubkey")
    .map(([name = "", version = "", architecture = "", reason = "", bytes]) => {
      return { name, version: withoutZeroEpoch(version), architecture, reason, bytes: sizeOrZero(bytes) };
    });

export interface OfferedRpm extends PackageVersion {
  readonly downloadBytes: number;
  readonly bytes: number;
}

export const parseOffered = (text: string): readonly OfferedRpm[] =>
  fields(text, 5).map(([name = "", version = "", architecture = "", download, bytes]) => {
    return {
      name,
      version: withoutZeroEpoch(version),
      architecture,
      downloadBytes: sizeOrZero(download),
      bytes: sizeOrZero(bytes),
    };
  });

/** The lists as every dnf reports them. */
export function createLists({ ask, dialect }: Pick<Dnf, "ask" | "dialect">): Lists {
  const listed = async (name: string, words: readonly string[], signal: AbortSignal): Promise<readonly Described[]> => {
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
      const versions = await listed(name, [dialect.withExcluded], signal);
      const candidates = versions.length === 0 ? [] : await listed(name, [], signal);
      const records = new Map(versions.map((each) => [nevraOf(each), each]));
      return { versions, candidates, described: (found) => records.get(nevraOf(found)) };
    },
  };
}
