import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cpuSeconds } from "../../bench/process-usage.ts";
import { fileKinds } from "../journals/corpora.ts";
import type { CorruptionEvent, CorruptionRun } from "../journals/corruption-run.ts";
import { boots, everyday, machines, messageEntries, specialEntries, start, timed } from "../journals/entries.ts";
import { encodeEntry } from "../journals/export-format.ts";
import { readFixture } from "../journals/fixture-files.ts";
import { appendToJournal, canMakeJournals } from "../journals/programs.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";

const countPerKind = 500;
const compareEvery = 8;
const firstSeed = seed * 1_000_000;
/** A query on these files takes milliseconds; who works for so long in silence is not coming back. */
const silentSeconds = 20;
const watchEveryMs = 5_000;

const program = join(import.meta.dirname, "../journals/corruption-run.ts");

type Finding = Extract<CorruptionEvent, { kind: "fault" }>;

interface Report {
  readonly faults: readonly Finding[];
  /** Undefined when the process did not come to its end. */
  readonly end: Extract<CorruptionEvent, { kind: "end" }> | undefined;
  /** The damage at which it did not, with the seed to make it again. */
  readonly stuckAt: string | undefined;
}

/** Runs damages in a process with a bounded heap and ends it when it falls silent. */
async function damageAndQuery(run: CorruptionRun): Promise<Report> {
  const child = spawn(process.execPath, ["--max-old-space-size=384", program, JSON.stringify(run)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const faults: Finding[] = [];
  let end: Report["end"];
  let last = "before the first damage";
  let errors = "";
  child.stderr.on("data", (data: Buffer) => {
    errors = (errors + data.toString()).slice(-4_000);
  });
  // Processor time: beside other load nobody can say how long a damage may take.
  const used = (): number => (child.pid === undefined || child.exitCode !== null ? 0 : cpuSeconds(child.pid));
  let usedBefore = 0;
  const watchdog = setInterval(() => {
    if (used() - usedBefore < silentSeconds) return;
    last += " (silent for too long)";
    child.kill("SIGKILL");
  }, watchEveryMs);
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line) as CorruptionEvent;
    if (event.kind === "begin") {
      last = `seed ${event.seed}: ${event.what}`;
      usedBefore = used();
    }
    if (event.kind === "fault") faults.push(event);
    if (event.kind === "end") end = event;
  }
  clearInterval(watchdog);
  return { faults, end, stuckAt: end === undefined ? `${last}\n${errors}` : undefined };
}

const [soundKind] = fileKinds;

function writeVictim(path: string, kind: (typeof fileKinds)[number]): void {
  const random = createRandom(fileKinds.indexOf(kind));
  const [firstBoot = "", secondBoot = ""] = boots;
  const clock = { bootId: firstBoot, realtime: start, monotonic: 1 };
  const later = { bootId: secondBoot, realtime: start + 86_400_000_000, monotonic: 1 };
  // The messages of a megabyte stay out: they would make every query slow.
  const odd = [...specialEntries, ...messageEntries].filter((fields) =>
    fields.every(([, value]) => value.length < 100_000),
  );
  appendToJournal(path, kind, [...everyday(random, clock, 300), ...timed(random, later, odd)].map(encodeEntry));
}

const victims = [
  ...fileKinds.slice(0, 4).map((kind) => ({ name: kind.name, write: (path: string) => writeVictim(path, kind) })),
  ...["lz4", "xz-compact"].map((name) => ({
    name: `by systemd 257, ${name}`,
    write: (path: string) => writeFileSync(path, readFixture(name)),
  })),
];

describe.skipIf(!canMakeJournals())("a damaged journal file", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "steward-damage-"));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.concurrent.each(victims)(
    "neither ends nor bloats the reader, and gives no less than to journalctl: $name",
    // Five hundred damages, each with eight queries; whether one hangs says the watchdog.
    { timeout: 1_800_000 },
    async ({ name: title, write }) => {
      const nth = victims.findIndex(({ name }) => name === title);
      const name = title.replaceAll(/\W+/g, "-");
      const [victim, bystander] = [join(folder, `${name}.journal`), join(folder, `${name}-beside.journal`)];
      write(victim);
      const own = { bootId: machines[0] ?? "", realtime: start + 1, monotonic: 1 };
      appendToJournal(bystander, soundKind, everyday(createRandom(nth), own, 50).map(encodeEntry));

      const report = await damageAndQuery({
        victim,
        bystander,
        folder: join(folder, name),
        firstSeed: firstSeed + nth * 100_000,
        count: countPerKind,
        compareEvery,
      });
      expect(report.stuckAt).toBeUndefined();
      const findings = report.faults.map(({ seed, what, fault }) => `seed ${seed}: ${what}\n  ${fault}`);
      expect(findings.length, findings.slice(0, 10).join("\n")).toBe(0);
      // Damage that nobody notices would prove nothing.
      expect(report.end?.damagesTold).toBeGreaterThan(countPerKind / 2);
      expect(report.end?.readInPart).toBeGreaterThan(countPerKind / compareEvery / 4);
    },
  );
});
