import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { jenkinsHash } from "#adapters/journald/journal-file/hash.ts";
import { collidingName, collidingUnits, collidingWith } from "../journals/collisions.ts";
import { corpora, fileKinds, type JournalFolder, writeCorpus } from "../journals/corpora.ts";
import { anatomyOf } from "../journals/mutations.ts";
import { canMakeJournals, runJournalctl } from "../journals/programs.ts";

const hashOf = (text: string) => jenkinsHash(Buffer.from(text));

it("makes different texts with one hash", () => {
  const target = "_SYSTEMD_UNIT=a.service";
  for (const beginning of ["MESSAGE=", "MESSAGE=more ", "SYSLOG_IDENTIFIER="]) {
    const forged = collidingWith(target, beginning);
    expect([forged.startsWith(beginning), hashOf(forged)]).toEqual([true, hashOf(target)]);
  }
  expect(hashOf(collidingName)).toEqual(hashOf("_SYSTEMD_UNIT"));
  const [one, other] = collidingUnits;
  expect(hashOf(`_SYSTEMD_UNIT=${one}`)).toEqual(hashOf(`_SYSTEMD_UNIT=${other}`));
});

const unkeyed = fileKinds.filter(({ keyedHash }) => !keyedHash);

describe.skipIf(!canMakeJournals()).each(unkeyed)("values and fields of one hash: $name", (kind) => {
  let folder: JournalFolder;
  let engine: Engine;

  beforeAll(() => {
    const corpus = corpora.find(({ isForUnkeyed }) => isForUnkeyed === true);
    if (corpus === undefined) throw new Error("there is no corpus of collisions");
    folder = writeCorpus(corpus, kind);
    engine = createEngine({ roots: [{ path: folder.path }] });
  });
  afterAll(() => {
    engine?.dispose();
    folder?.remove();
  });

  it.each([
    ["values", 1],
    ["fields", 2],
  ])("are in the file, %s of them", (_, objectType) => {
    const { bytes, objects } = anatomyOf(readFileSync(join(folder.path, "user-1000.journal")));
    const hashes = objects
      .filter(({ type }) => type === objectType)
      .map(({ offset }) => bytes.readBigUInt64LE(offset + 16));
    expect(new Set(hashes).size).toBeLessThan(hashes.length);
  });

  it.each(["_SYSTEMD_UNIT", collidingName, "SYSLOG_IDENTIFIER", "PRIORITY"])(
    "are told apart among those of %s",
    (name) => {
      const answer = engine.list({ what: "values", name, units: undefined });
      const { stdout } = runJournalctl(["-D", folder.path, "-F", name]);
      const theirs = stdout.toString().trimEnd().split("\n").toSorted();
      expect(
        answer.what === "values" && answer.values.values.map((value) => ("text" in value ? value.text : "")).toSorted(),
      ).toEqual(theirs);
    },
  );
});
