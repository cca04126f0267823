import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LogQuery } from "#domain/ports/journal.ts";
import type { BoundedAnswer, BoundedRun } from "../journals/bounded-run.ts";
import { type ManyValues, writeManyValues } from "../journals/many-values.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const mebibyte = 2 ** 20;
/** Of JavaScript, for a thread that answers alone; with nothing kept it takes some twenty. */
const heapMebibytes = 64;
/** What all files together may keep: one bound, not one for each. */
const keptBytes = 40 * mebibyte;
/** Blocks, the page, and what a walk over a file needs. */
const bufferBytes = 64 * mebibyte;
/** What the whole service may take with all of its threads at work. How many there are before depends on what else the machine does. */
const residentBytes = 640 * mebibyte;
const program = join(import.meta.dirname, "../journals/bounded-run.ts");

const files = 30;
const attacks: readonly (ManyValues & { readonly name: string })[] = [
  { name: "each in an entry of its own", files, identifiers: 64_000, inEntry: 1, times: 1, others: 0 },
  // Fifty identifiers stand before the message of an entry, and entries are few enough to be read one by one.
  // Of each entry no other has the words.
  { name: "other words in each entry", files, identifiers: 16_000, inEntry: 1, times: 1, others: 0, areWords: true },
  { name: "each twice, crowded into few entries", files, identifiers: 64_000, inEntry: 50, times: 2, others: 32_000 },
];

type Case = readonly [query: Partial<LogQuery>, total: number, identifiers: number];

describe.skipIf(!canMakeJournals()).each(attacks)(
  "a journal of 30 files with $identifiers identifiers, $name",
  (attack) => {
    const workspace = createWorkspace();
    const directory = workspace.path("journal");
    const crowded = files * (attack.identifiers / attack.inEntry) * attack.times;
    let entries = 0;

    beforeAll(() => {
      entries = files * writeManyValues(directory, attack);
    });
    afterAll(() => workspace.dispose());

    it(`is searched, filtered and counted in a heap of ${heapMebibytes} MiB`, async () => {
      const { identifiers, inEntry, areWords = false } = attack;
      const numbered: readonly Case[] = [
        [{ grep: "said at last 1[0-9]$", priority: 3 }, files * 10, 10 * inEntry],
        [{ grep: "last 5$", units: ["a.*"] }, files, inEntry],
        [{ identifier: "forged-63999" }, files * attack.times, inEntry],
      ];
      const cases: readonly Case[] = [
        [{ grep: "said at last" }, crowded, identifiers],
        [{ grep: "nothing like it" }, 0, 0],
        ...(areWords ? [] : numbered),
        [{ units: ["*"] }, crowded, identifiers],
        [{ priority: 6, order: "desc" }, entries, identifiers],
      ];
      const run: BoundedRun = { directory, queries: cases.map(([query]) => query) };
      const argv = [`--max-old-space-size=${heapMebibytes}`, program, JSON.stringify(run)];
      const { stdout } = await promisify(execFile)(process.execPath, argv);
      const answers = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as BoundedAnswer);
      expect(answers.map(({ total }) => total)).toEqual(cases.map(([, total]) => total));
      expect(answers.map(({ ofTemplates }) => ofTemplates)).toEqual(cases.map(([, total]) => total));
      expect(answers.map(({ counted }) => counted)).toEqual(cases.map(([, total]) => total));
      expect(answers.map(({ identifiers }) => identifiers)).toEqual(cases.map(([, , identifiers]) => identifiers));
      expect(answers.map(({ listed }) => listed)).toEqual(cases.map(([, total]) => Math.min(total, 1000)));
      for (const answer of answers) {
        expect(answer.keptBytes).toBeLessThanOrEqual(keptBytes);
        expect(answer.bufferBytes).toBeLessThanOrEqual(bufferBytes);
      }
    });

    it("is searched by all threads of the service within its memory", async () => {
      const service = await startService(workspace, {
        settings: "updates: { enabled: false }\nconnectors: { discover: false }\n",
        environment: { STEWARD_JOURNAL_DIR: directory },
      });
      const ask = async (query: Readonly<Record<string, string>>, path = "") => {
        const wanted = new URLSearchParams({ since: "1970-01-01T00:00:00Z", ...query }).toString();
        const headers = { "X-API-Key": service.adminKey };
        const reply = await fetch(`${service.url}/api/v1/system/logs${path}?${wanted}`, { headers });
        return { status: reply.status, body: await reply.text() };
      };
      // On a busy machine the time of a search may be over.
      const expectAnswered = (replies: readonly { readonly status: number; readonly body: string }[]): void => {
        for (const { status, body } of replies) expect([200, 429, 503], body.slice(0, 500)).toContain(status);
      };
      const peakBytes = (): number =>
        1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid}/status`, "latin1"))?.[1]);
      const searches = [{ grep: "said at last" }, { grep: "last 7", priority: "3" }, { unit: "*" }];
      const search = () => searches.map((query) => ask({ limit: "1000", ...query }));
      for (let round = 0; round < 3; round += 1) expectAnswered(await Promise.all(search()));
      expect((await ask({ limit: "1" })).status).toBe(200);
      const counting = [
        () => ask({}, "/histogram"),
        () => ask({}, "/facets"),
        () => ask({ grep: "at last" }, "/facets"),
      ];
      for (const count of counting) expectAnswered([await count()]);
      expectAnswered([await ask({}, "/templates")]);
      // With all of its threads at work, each of which holds some eighty megabytes.
      expectAnswered(await Promise.all([...search(), ask({}, "/templates"), ...counting.map((count) => count())]));
      expect(peakBytes()).toBeLessThan(residentBytes);
      expect((await ask({ limit: "1" })).status).toBe(200);
      expect(service.lines().filter(({ level }) => level === "error" || level === "fatal")).toEqual([]);
      service.kill("SIGTERM");
      await service.exit;
    });
  },
);
