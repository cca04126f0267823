import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { LogList } from "#contract/logs.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { boots, everyday, messageEntries, specialEntries, start, timed } from "../../journals/entries.ts";
import { everything } from "../../journals/known.ts";
import { anatomyOf, createMutator } from "../../journals/mutations.ts";
import { packedMessages } from "../../journals/packed-messages.ts";
import type { FileKind } from "../../journals/programs.ts";
import { smallJournal, withHashes } from "../../journals/small-journal.ts";
import { createRandom, type Random } from "../../support/random.ts";
import { createValidator, expectThat, type FuzzTarget } from "../target.ts";

const maxBytes = 16 * 1024;
const documentedErrors = new Set(["LogQueryRefused", "NoPermission"]);
const [bootId = "", otherBoot = ""] = boots;
const middle = start + 5_000;
const hour = 3_600_000_000;

const queries: readonly LogQuery[] = [
  everything,
  { ...everything, order: "desc", limit: 3 },
  { ...everything, units: ["a.service", "app-?.service"], since: start, until: middle },
  { ...everything, priority: 3, limit: 5 },
  { ...everything, identifier: "nginx", grep: "took [0-9]5", order: "desc" },
  { ...everything, boot: "-1", limit: 10 },
  { ...everything, limit: 4, cursor: `s=${"5e".repeat(16)};i=3;b=${bootId};m=1;t=${middle.toString(16)};x=0` },
];

const decoder = new TextDecoder("utf-8", { fatal: true });
const isLogList = createValidator<LogList>(LogList);

/** The answer, or the name of the error that the reader documents. */
function ask(engine: Engine, query: LogQuery): LogList | string {
  try {
    const answer: unknown = JSON.parse(decoder.decode(engine.query(query)));
    expectThat(isLogList(answer), `the answer is not a list of entries: ${JSON.stringify(isLogList.errors)}`);
    return answer;
  } catch (error) {
    if (error instanceof Error && documentedErrors.has(error.name)) return error.name;
    throw error;
  }
}

/** A reader names the damage that it has met first, which for one that answered other queries before may be elsewhere in the file. */
function sameEntries(fresh: LogList | string, used: LogList | string): boolean {
  if (typeof fresh === "string" || typeof used === "string") return fresh === used;
  const [{ unread: met = [], ...entries }, { unread: known = [], ...same }] = [fresh, used];
  const files = new Set(known.map(({ file }) => file));
  return JSON.stringify(entries) === JSON.stringify(same) && met.every(({ file }) => files.has(file));
}

function judge(query: LogQuery, { logs, total }: LogList): void {
  expectThat(logs.length <= query.limit, `${logs.length} entries, and ${query.limit} were asked for`);
  expectThat(total >= logs.length, `a total of ${total} for ${logs.length} entries`);
}

const kinds: readonly FileKind[] = [
  { compact: true, keyedHash: true, compress: true },
  { compact: false, keyedHash: false, compress: false },
  { compact: false, keyedHash: true, compress: true },
];

const clock = { bootId, realtime: start, monotonic: 1_000_000 };
const small = (fields: (typeof specialEntries)[number]): boolean => fields.every(([, value]) => value.length < 2000);
const seedsOf = (kind: FileKind): readonly Buffer[] => [
  smallJournal([], kind),
  smallJournal(everyday(createRandom(1), clock, 3), kind),
  smallJournal(everyday(createRandom(2), clock, 24), kind, { buckets: 13 }),
  smallJournal(timed(createRandom(3), clock, specialEntries.filter(small).slice(0, 16)), kind),
  smallJournal(timed(createRandom(4), clock, messageEntries.filter(small).slice(0, 20)), kind),
  smallJournal(
    [
      ...everyday(createRandom(5), clock, 5),
      ...everyday(createRandom(6), { bootId: otherBoot, realtime: start + hour, monotonic: 1 }, 5),
    ],
    kind,
    { buckets: 1 },
  ),
];

/** Journals in which payloads are packed as only older hosts, or those that are asked to, pack them. */
const packedSeeds = (kind: FileKind): readonly Buffer[] =>
  (["LZ4", "XZ"] as const).map((compression) => {
    const { messages, ...packing } = packedMessages(compression);
    const entries = messages.slice(0, 4).map((message) => [["MESSAGE", message] as const]);
    return smallJournal(timed(createRandom(8), clock, entries), kind, { packing });
  });

/** Damages a file where its objects are, or changes a payload so that it is still found. */
function mutate(input: Buffer, random: Random): Buffer | undefined {
  try {
    if (random.chance(0.3)) {
      const { objects } = anatomyOf(input);
      const { offset, size } = random.pick(objects.filter(({ type, size: bytes }) => type <= 2 && bytes > 72));
      const copy = Buffer.from(input);
      copy[offset + 64 + random.integer(size - 64)] = random.integer(256);
      return withHashes(copy);
    }
    const copy = Buffer.from(input);
    const { patches, truncateTo } = createMutator(anatomyOf(input))(random);
    for (const { offset, bytes } of patches) if (offset < copy.length) bytes.copy(copy, offset);
    return copy.subarray(0, truncateTo);
  } catch (error) {
    // Its objects can no longer be distinguished: there is no form to leave intact.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export const target: FuzzTarget = {
  maxBytes,
  maxSteps: 3_000_000,
  dictionary: () =>
    "LPKSHHRH MESSAGE= PRIORITY=3 _SYSTEMD_UNIT=a.service _PID=1 _BOOT_ID= _TRANSPORT=kernel".split(" "),
  seeds: () => [
    ...kinds.flatMap(seedsOf),
    ...kinds.slice(0, 2).flatMap((kind) => packedSeeds({ ...kind, compress: true })),
  ],
  mutate,
  open() {
    const root = mkdtempSync(join(tmpdir(), "journal-"));
    const victim = join(root, "victim");
    const both = join(root, "both");
    for (const directory of [victim, both]) mkdirSync(directory);
    const sound = everyday(createRandom(7), { bootId: boots[2] ?? "", realtime: start - hour, monotonic: 1 }, 3);
    const options = { buckets: 3, fileId: Buffer.alloc(16, 0xb0) };
    writeFileSync(
      join(both, "sound.journal"),
      smallJournal(sound, { compact: true, keyedHash: true, compress: true }, options),
    );
    const withEngine = <T>(path: string, use: (engine: Engine) => T): T => {
      const engine = createEngine({ roots: [{ path }] });
      try {
        return use(engine);
      } finally {
        engine.dispose();
      }
    };
    return Promise.resolve({
      run(input) {
        for (const directory of [victim, both]) writeFileSync(join(directory, "victim.journal"), input);
        withEngine(victim, (engine) => {
          for (const [at, query] of queries.entries()) {
            const answer = ask(engine, query);
            if (typeof answer !== "string") judge(query, answer);
            // One of them each time.
            if (at !== input.length % queries.length) continue;
            const again = withEngine(victim, (fresh) => ask(fresh, query));
            expectThat(sameEntries(again, answer), "a new reader answers something else");
          }
        });
        const answer = withEngine(both, (engine) => ask(engine, everything));
        if (typeof answer === "string") return;
        const ofSound = answer.logs.filter(({ boot_id }) => boot_id === boots[2]);
        expectThat(
          ofSound.length >= sound.length,
          `${ofSound.length} of the ${sound.length} entries of the sound file`,
        );
      },
      close: () => rmSync(root, { recursive: true, force: true }),
    });
  },
};
