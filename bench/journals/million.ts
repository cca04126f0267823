import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";
import { encodeEntry, type Field, type NewEntry } from "../../test/journals/export-format.ts";
import { journalRemote, journalRemoteCall, whyNoJournals } from "../../test/journals/programs.ts";
import { createRandom, type Random } from "../../test/support/random.ts";

/** A journal of a busy host, as big as asked for. */
export interface BigJournal {
  /** Directory to give to `journalctl -D`. */
  readonly dir: string;
  readonly entries: number;
  /** Time of the oldest and of the newest entry, microseconds since the epoch. */
  readonly firstMicros: number;
  readonly lastMicros: number;
}

export interface BigJournalOptions {
  readonly entries: number;
  /** Whether each entry has the time of its writer, as those of journald have: files fill up twice as early. */
  readonly stamped?: boolean;
  /** Time of the newest entry. A fixed one by default, so that the journal can be kept. */
  readonly endMicros?: number;
  /** Directory to keep journals in: `steward/journals` in the user's cache unless given. */
  readonly cache?: string;
}

/** Changes whenever what is written changes, so that no journal of another making is taken. */
const recipe = 2;
/** 2026-01-01T00:00:00Z. */
const defaultEndMicros = 1_767_225_600_000_000;
/** The host has been writing for ten days, over three boots. */
const spanMicros = 10 * 86_400_000_000;
const bootIds = ["4", "5", "6"].map((digit) => digit.repeat(32));
const kind = { compact: true, keyedHash: true, compress: true };

interface Unit {
  readonly name: string;
  readonly pid: number;
  readonly fixed: readonly Field[];
}

const programs = [
  "nginx",
  "postgresql",
  "app-api",
  "app-worker",
  "cron",
  "ssh",
  "systemd-logind",
  "docker",
  "redis",
  "exim4",
];

/** Sixty units, each with the fields that journald would give to all its entries. */
const units: readonly Unit[] = Array.from({ length: 60 }, (_, position) => {
  const program = programs[position % programs.length] ?? "";
  const round = Math.floor(position / programs.length);
  const name = round === 0 ? `${program}.service` : `${program}@${round}.service`;
  const pid = 300 + position * 37;
  return {
    name,
    pid,
    fixed: [
      ["_TRANSPORT", "stdout"],
      ["_SYSTEMD_UNIT", name],
      ["_SYSTEMD_CGROUP", `/system.slice/${name}`],
      ["_SYSTEMD_SLICE", "system.slice"],
      ["_SYSTEMD_INVOCATION_ID", (position + 1).toString(16).padStart(32, "0")],
      ["_STREAM_ID", (position + 4096).toString(16).padStart(32, "0")],
      ["SYSLOG_IDENTIFIER", program],
      ["SYSLOG_FACILITY", "3"],
      ["_PID", String(pid)],
      ["_UID", String(position % 7 === 0 ? 0 : 100 + position)],
      ["_GID", String(position % 7 === 0 ? 0 : 100 + position)],
      ["_COMM", program.slice(0, 15)],
      ["_EXE", `/usr/sbin/${program}`],
      ["_CMDLINE", `/usr/sbin/${program} --config /etc/${program}/main.conf`],
      ["_CAP_EFFECTIVE", "0"],
      ["_SELINUX_CONTEXT", "unconfined\n"],
      ["_HOSTNAME", "busy"],
      ["_MACHINE_ID", "7".repeat(32)],
    ],
  };
});

const verbs = ["GET", "POST", "PUT", "DELETE"];
const words = ["session", "request", "backend", "timeout", "opened", "closed", "upstream", "client", "retry", "commit"];

/** Text of 60 to 200 bytes, one in two hundred more than 1 KiB, no two the same. */
function message(random: Random, position: number): string {
  const head = `${random.pick(verbs)} /api/v1/${random.pick(words)}/${position.toString(36)} from 10.0.${random.integer(256)}.${random.integer(256)}`;
  const length = random.chance(0.005) ? 1_100 + random.integer(3_000) : 60 + random.integer(140);
  let text = head;
  while (text.length < length) text += ` ${random.pick(words)}=${random.integer(100_000)}`;
  return text.slice(0, Math.max(length, head.length));
}

/** Mostly info, as hosts are; a few errors, hardly anything worse. */
function severity(random: Random): string {
  const drawn = random.integer(1000);
  if (drawn < 700) return "6";
  if (drawn < 820) return "5";
  if (drawn < 900) return "7";
  if (drawn < 960) return "4";
  if (drawn < 995) return "3";
  return drawn < 999 ? "2" : "1";
}

const busiest = units.slice(0, 12);
const [talker] = units as readonly [Unit];

/** What systemd itself writes of a unit: found by `-u` through UNIT and _PID, not through _SYSTEMD_UNIT. */
const ofManager = (unit: Unit): readonly Field[] => [
  ["_TRANSPORT", "journal"],
  ["_SYSTEMD_UNIT", "init.scope"],
  ["_SYSTEMD_CGROUP", "/init.scope"],
  ["_PID", "1"],
  ["_UID", "0"],
  ["_GID", "0"],
  ["_COMM", "systemd"],
  ["_EXE", "/usr/lib/systemd/systemd"],
  ["SYSLOG_IDENTIFIER", "systemd"],
  ["SYSLOG_FACILITY", "3"],
  ["CODE_FILE", "src/core/job.c"],
  ["CODE_FUNC", "job_emit_done_message"],
  ["CODE_LINE", "768"],
  ["JOB_TYPE", "restart"],
  ["JOB_RESULT", "done"],
  ["UNIT", unit.name],
  ["_HOSTNAME", "busy"],
  ["_MACHINE_ID", "7".repeat(32)],
];

interface Made {
  readonly count: number;
  readonly stamped: boolean;
  readonly startMicros: number;
  readonly stepMicros: number;
}

function entryAt(random: Random, position: number, { count, stamped, startMicros, stepMicros }: Made): NewEntry {
  // One unit writes half of it, a dozen most of the rest.
  const unit = random.chance(0.5) ? talker : random.pick(random.chance(0.8) ? busiest : units);
  const boot = Math.floor((position * bootIds.length) / count);
  const passed = position * stepMicros;
  const bootPassed = Math.ceil((boot * count) / bootIds.length) * stepMicros;
  return {
    realtime: startMicros + passed,
    monotonic: 5_000_000 + passed - bootPassed,
    bootId: bootIds[boot] ?? "",
    fields: [
      ...(random.chance(0.01) ? ofManager(unit) : unit.fixed),
      ["PRIORITY", severity(random)],
      ["MESSAGE", message(random, position)],
      ...(stamped ? [["_SOURCE_REALTIME_TIMESTAMP", String(startMicros + passed - 40)] as const] : []),
    ],
  };
}

function* chunksOf(made: Made): Generator<Buffer> {
  const { count } = made;
  const random = createRandom(count);
  const chunk = 2_000;
  for (let from = 0; from < count; from += chunk) {
    const size = Math.min(chunk, count - from);
    yield Buffer.concat(Array.from({ length: size }, (_, at) => encodeEntry(entryAt(random, from + at, made))));
  }
}

/** The writer begins a new file by itself when a hash table has filled up, every 170 000 entries or so. */
async function write(directory: string, made: Made): Promise<void> {
  const { count } = made;
  const { argv, env } = journalRemoteCall(join(directory, "system.journal"), kind);
  const child = spawn(journalRemote, argv, { env, stdio: ["pipe", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (data: Buffer) => {
    errors = (errors + data.toString()).slice(-2_000);
  });
  // A writer that ends early shows as its exit code; the broken pipe says no more.
  child.stdin.on("error", () => undefined);
  const code = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  for (const chunk of chunksOf(made)) {
    if (child.stdin.destroyed) break;
    if (!child.stdin.write(chunk)) {
      await Promise.race([new Promise((resolve) => child.stdin.once("drain", resolve)), code]);
    }
  }
  child.stdin.end();
  await finished(child.stdin).catch(() => undefined);
  const status = await code;
  if (status !== 0 || !errors.includes(`after writing ${count} entries`)) {
    throw new Error(`cannot write a journal of ${count} entries: exit ${status}, ${errors}`);
  }
}

const defaultCache = (): string =>
  join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "steward", "journals");

/**
 * Makes the journal, or takes the one that an earlier call has made.
 * @throws Error when systemd-journal-remote is missing or fails.
 */
export async function millionJournal({
  entries,
  stamped = false,
  endMicros = defaultEndMicros,
  cache = defaultCache(),
}: BigJournalOptions): Promise<BigJournal> {
  const dir = join(cache, `${entries}${stamped ? "-stamped" : ""}-until-${endMicros}-recipe-${recipe}`);
  const about = join(dir, "about.json");
  if (existsSync(about)) return { ...(JSON.parse(readFileSync(about, "utf8")) as BigJournal), dir };
  const missing = whyNoJournals();
  if (missing !== undefined) throw new Error(`cannot make a journal: ${missing}`);
  const stepMicros = Math.floor(spanMicros / entries);
  const firstMicros = endMicros - stepMicros * (entries - 1);
  const unfinished = `${dir}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  try {
    await write(unfinished, { count: entries, stamped, startMicros: firstMicros, stepMicros });
    const made = { dir, entries, firstMicros, lastMicros: endMicros };
    writeFileSync(join(unfinished, "about.json"), JSON.stringify(made));
    // Somebody else may have made it meanwhile; it is the same.
    if (!existsSync(about)) renameSync(unfinished, dir);
    return made;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      entries: { type: "string", default: "1000000" },
      stamped: { type: "boolean", default: false },
      end: { type: "string" },
      cache: { type: "string" },
    },
  });
  const journal = await millionJournal({
    entries: Number(values.entries),
    stamped: values.stamped,
    ...(values.end === undefined ? {} : { endMicros: Date.parse(values.end) * 1000 }),
    ...(values.cache === undefined ? {} : { cache: values.cache }),
  });
  console.log(JSON.stringify(journal));
}
