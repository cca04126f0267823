import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { type FileAuditLog, openAuditLog, verifyAudit } from "#adapters/audit/index.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import type { AuditQuery } from "#domain/ports/audit.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);
let directories = 0;
const newDirectory = (): string => {
  directories += 1;
  const directory = workspace.path(`chain-${directories}`);
  mkdirSync(directory);
  return directory;
};

const clock = createFakeClock();
const openLog = (stateDir: string, maxBytes = 2000, keepFiles = 1000): FileAuditLog =>
  openAuditLog({
    stateDir,
    clock,
    limits: { maxBytes, keepFiles },
    onTrouble(error) {
      throw error;
    },
    onRepaired: (faults) => expect(faults).toEqual([]),
    onRotated: () => undefined,
  });
const write = (log: FileAuditLog, text: string): void =>
  log.record({ ...auditEvent("restartService", clock.now()), target: { name: text } });
const filesOf = (directory: string): readonly string[] =>
  readdirSync(directory)
    .sort()
    .map((name) => join(directory, name));

/** A log of so many entries; three or so are in each file. */
function filledLog(entries: number, maxBytes?: number): string {
  const log = openLog(newDirectory(), maxBytes);
  for (let at = 1; at <= entries; at += 1) write(log, `entry ${at}`);
  log.dispose();
  return log.directory;
}

const everything: AuditQuery = {
  since: undefined,
  until: undefined,
  operation: undefined,
  keyId: undefined,
  target: undefined,
  outcome: undefined,
  limit: 1000,
  cursor: undefined,
};

describe("an audit log that nobody tampered with", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("write" as const), text: fc.string({ unit: "binary", maxLength: 30 }) }),
    fc.record({ kind: fc.constant("restart" as const) }),
    // How much of the newest entry is there after a crash, from all to nothing of it.
    fc.record({
      kind: fc.constant("crash" as const),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      zeros: fc.nat(3),
    }),
  );

  it("is intact whatever is written, wherever a crash cuts it off, however often it is started, and across files", async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(3), async (steps, small) => {
      const stateDir = newDirectory();
      const open = () => openLog(stateDir, 600 + small * 1000);
      let log = open();
      let written = 0;
      let cutOff = 0;
      for (const each of steps) {
        if (each.kind === "write") {
          write(log, each.text);
          written += 1;
          continue;
        }
        log.dispose();
        const newest = filesOf(log.directory).at(-1) ?? "";
        const bytes = readFileSync(newest);
        if (each.kind === "crash" && bytes.length > 0) {
          const start = bytes.lastIndexOf("\n", bytes.length - 2) + 1;
          const kept = start + Math.floor((bytes.length - start) * each.part);
          // The end of the last line alone is not a loss.
          const isCut = bytes.subarray(kept).some((byte) => byte !== 0x0a);
          truncateSync(newest, kept);
          // A power cut may leave zeros behind what had reached the disk.
          if (isCut && kept > start) appendFileSync(newest, Buffer.alloc(each.zeros));
          if (isCut) cutOff += 1;
          const { broken } = await verifyAudit(log.directory, []);
          expect(broken).toBeUndefined();
        }
        log = open();
      }
      write(log, "last");
      const verdict = await verifyAudit(log.directory, []);
      expect(verdict).toMatchObject({ broken: undefined, last: log.head() });
      expect(verdict.entries).toBe(log.head().seq);
      const page = await log.list(everything, new AbortController().signal);
      const own = page.entries.filter(({ operation }) => operation === "restartService");
      // A crash may have cut off an entry that named another.
      expect(own.length).toBeGreaterThanOrEqual(written + 1 - cutOff);
      expect(page.entries.map(({ seq }) => seq)).toEqual(page.entries.map((_, at) => log.head().seq - at));
      log.dispose();
      rmSync(stateDir, { recursive: true });
    });
    await fc.assert(property, {
      numRuns: 100,
      examples: [[[{ kind: "write", text: "" }, ...Array(2).fill({ kind: "crash", part: 0.998, zeros: 0 })], 0]],
    });
  });

  it("notes a crash in the middle of an entry, before the next start and after it", async () => {
    const directory = filledLog(2, 1_000_000);
    const [path = ""] = filesOf(directory);
    truncateSync(path, readFileSync(path).length - 40);
    const before = await verifyAudit(directory, []);
    expect([before.broken, before.notes]).toEqual([
      undefined,
      [expect.stringMatching(/:2: the last entry is incomplete/)],
    ]);
    const log = openLog(join(directory, ".."), 1_000_000);
    write(log, "next");
    const after = await verifyAudit(directory, []);
    expect([after.broken, after.entries]).toEqual([undefined, 3]);
    expect(after.notes).toEqual([
      expect.stringMatching(/:2: an entry was cut off by a crash or a full disk \(\d+ bytes\)/),
    ]);
  });
});

describe("an audit log that was tampered with", () => {
  const entries = 12;
  const original = filledLog(entries);
  const contents = filesOf(original).map((path) => [path, readFileSync(path)] as const);
  const lines = contents.flatMap(([path, bytes]) =>
    bytes
      .toString("utf8")
      .trimEnd()
      .split("\n")
      .map((text, at) => ({ path, line: at + 1, text })),
  );

  /** Writes the log again with these lines in the place of its own. */
  const rewrite = (changed: readonly { readonly path: string; readonly text: string }[]): string => {
    const directory = newDirectory();
    for (const [path] of contents) {
      const text = changed
        .filter((each) => each.path === path)
        .map((each) => `${each.text}\n`)
        .join("");
      writeFileSync(join(directory, path.slice(original.length + 1)), text);
    }
    return directory;
  };
  const brokenOf = async (directory: string) => (await verifyAudit(directory, [])).broken;

  it("is found out where any byte was changed, by the line", async () => {
    expect(contents.length).toBeGreaterThan(2);
    expect(await verifyAudit(original, [])).toMatchObject({ broken: undefined, entries });
    const property = fc.asyncProperty(
      fc.nat(entries - 1),
      fc.nat(2000),
      fc.integer({ min: 1, max: 255 }),
      async (at, position, change) => {
        const { path, line, text } = lines[at] ?? { path: "", line: 0, text: "" };
        const bytes = Buffer.from(text);
        const place = position % bytes.length;
        bytes[place] = (bytes[place] ?? 0) ^ change;
        const directory = newDirectory();
        for (const [each, content] of contents)
          writeFileSync(join(directory, each.slice(original.length + 1)), content);
        const changed = join(directory, path.slice(original.length + 1));
        const content = readFileSync(changed);
        const start = Buffer.from(
          lines
            .filter((each) => each.path === path && each.line < line)
            .map((each) => `${each.text}\n`)
            .join(""),
        ).length;
        bytes.copy(content, start);
        writeFileSync(changed, content);
        const broken = await brokenOf(directory);
        rmSync(directory, { recursive: true });
        // The last line of all may look like one that a crash cut off, and then the head of the log decides.
        if (broken === undefined) {
          expect(at).toBe(entries - 1);
          return;
        }
        expect([broken.file, broken.line, broken.seq]).toEqual([changed, line, at + 1]);
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });

  it("is found out where lines were removed, swapped or put in, by the entry", async () => {
    const inserted = [
      () => "nonsense",
      () => "",
      (at: number) => lines[at]?.text ?? "",
      (at: number) => lines[at]?.text.replace("restartService", "revokeKey") ?? "",
    ];
    for (let at = 0; at < entries - 1; at += 1) {
      const { path = "", line = 0, text: own = "" } = lines[at] ?? {};
      const removed = await brokenOf(rewrite(lines.toSpliced(at, 1)));
      expect([removed?.seq, removed?.what]).toEqual([at + 1, expect.stringMatching(/missing|an old file is gone/)]);
      const texts = lines
        .map(({ text }) => text)
        .with(at, lines[at + 1]?.text ?? "")
        .with(at + 1, own);
      const swapped = await brokenOf(rewrite(lines.map((each, here) => ({ ...each, text: texts[here] ?? "" }))));
      expect([swapped?.seq, swapped?.line]).toEqual([at + 1, line]);
      for (const make of inserted) {
        const broken = await brokenOf(rewrite(lines.toSpliced(at + 1, 0, { path, line, text: make(at) })));
        const isThere = broken?.file.endsWith(path.slice(original.length));
        expect([isThere, broken?.line, broken?.seq]).toEqual([true, line + 1, at + 2]);
      }
    }
  });

  it("is found out where a file was removed or renamed", async () => {
    const directory = rewrite(lines);
    const [oldest = "", middle = ""] = filesOf(directory);
    unlinkSync(middle);
    expect((await brokenOf(directory))?.what).toMatch(/missing before this file/);
    unlinkSync(oldest);
    expect(await brokenOf(directory)).toMatchObject({ seq: 1, what: expect.stringMatching(/an old file is gone/) });
    const other = rewrite(lines);
    renameSync(filesOf(other).at(-1) ?? "", join(other, "audit-000000000099.log"));
    expect((await brokenOf(other))?.what).toMatch(/missing before this file/);
  });

  it("stays broken where something was appended while the service was stopped", async () => {
    const directory = filledLog(3, 1_000_000);
    appendFileSync(filesOf(directory)[0] ?? "", "what is this?\n");
    const log = openLog(join(directory, ".."), 1_000_000);
    write(log, "next");
    expect(await brokenOf(directory)).toMatchObject({
      line: 4,
      seq: 4,
      what: expect.stringMatching(/not an entry; the service found it/),
    });
  });

  it("is found out where its end was cut off or it was written again, by a checkpoint that is kept elsewhere", async () => {
    const directory = rewrite(lines);
    const { last } = await verifyAudit(directory, []);
    const head = { seq: last?.seq ?? 0, hash: last?.hash ?? "", source: "the journal" };
    expect(await verifyAudit(directory, [head])).toMatchObject({ broken: undefined, headsFound: 1 });
    const newest = filesOf(directory).at(-1) ?? "";
    const text = readFileSync(newest, "utf8");
    truncateSync(newest, text.lastIndexOf("\n", text.length - 2) + 1);
    expect((await verifyAudit(directory, [head])).broken).toMatchObject({
      seq: entries,
      what: expect.stringMatching(/the journal knows entry 12/),
    });
    const restarted = filledLog(entries + 3);
    const sameNumber = { ...head, seq: 5, hash: lines[4]?.text.slice(-66, -2) ?? "" };
    await clock.advance(1000);
    expect((await verifyAudit(directory, [sameNumber])).headsFound).toBe(1);
    expect((await verifyAudit(restarted, [{ ...sameNumber, hash: "0".repeat(64) }])).broken).toMatchObject({
      seq: 5,
      what: expect.stringMatching(/was rewritten/),
    });
  });
});

/*
 * Versions up to 0.1.0 sealed entries without `replayed` for paths that cannot be parsed. Such logs are there, and what is done to
 * them afterwards has to show.
 */
describe("an audit log with malformed entries of an older version", () => {
  const sha256 = (text: string | Buffer): string => createHash("sha256").update(text).digest("hex");
  interface Place {
    readonly seq: number;
    readonly hash: string;
  }
  const origin: Place = { seq: 0, hash: "0".repeat(64) };
  const sealedAfter = ({ seq, hash }: Place, members: object) => {
    const body = JSON.stringify({ seq: seq + 1, prev: hash, ...members });
    const digest = sha256(body);
    return { text: `${body.slice(0, -1)},"hash":"${digest}"}`, place: { seq: seq + 1, hash: digest } };
  };
  const good = (name: string) => auditEvent("restartService", clock.now(), { target: { name } });
  const { replayed: _, ...malformed } = auditEvent("calls.refused", clock.now(), { outcome: "refused", status: 401 });

  /** Lines in a chain; an event names as many lines before it as it says, and follows the entry before them. */
  function chainOf(kinds: readonly ("good" | "malformed" | { readonly event: string; readonly of: number })[]) {
    const texts: string[] = [];
    const places: Place[] = [origin];
    for (const [at, kind] of kinds.entries()) {
      if (typeof kind !== "string") {
        const region = texts.slice(-kind.of).join("\n");
        places.splice(-kind.of);
        const target = { bytes: String(Buffer.byteLength(region)), sha256: sha256(region) };
        const { text, place } = sealedAfter(places.at(-1) ?? origin, auditEvent(kind.event, clock.now(), { target }));
        texts.push(text);
        places.push(place);
        continue;
      }
      const { text, place } = sealedAfter(places.at(-1) ?? origin, kind === "good" ? good(`${at}`) : malformed);
      texts.push(text);
      places.push(place);
    }
    return { texts, last: places.at(-1) ?? origin };
  }
  function logOf(texts: readonly string[]): string {
    const directory = join(newDirectory(), "audit");
    mkdirSync(directory, { mode: 0o700 });
    writeFileSync(join(directory, "audit-000000000001.log"), texts.map((text) => `${text}\n`).join(""), {
      mode: 0o600,
    });
    return directory;
  }
  const middle = ["good", "malformed", "good", "malformed", "malformed", "good", "good"] as const;

  it("is intact, names them, and is continued", async () => {
    const { texts, last } = chainOf(middle);
    const directory = logOf(texts);
    const verdict = await verifyAudit(directory, [{ ...last, source: "the journal" }]);
    expect(verdict).toMatchObject({ broken: undefined, entries: 7, malformed: 3, last, headsFound: 1 });
    expect(verdict.notes).toEqual(
      [2, 4, 5].map((line) => expect.stringMatching(new RegExp(`:${line}: entry ${line} is malformed.*: replayed$`))),
    );
    const log = openLog(join(directory, ".."), 1_000_000);
    expect(log.head()).toEqual(last);
    write(log, "next");
    expect(await verifyAudit(directory, [])).toMatchObject({ broken: undefined, entries: 8, malformed: 3 });
  });

  it.each([
    [1, "audit.torn"],
    [3, "audit.damaged"],
  ])("is intact where %i of them at its end were taken for remains of a crash (%s)", async (count, event) => {
    const run = Array.from({ length: count }, () => "malformed" as const);
    const { texts, last } = chainOf(["good", ...run, { event, of: count }, "good"]);
    const verdict = await verifyAudit(logOf(texts), []);
    expect(verdict).toMatchObject({ broken: undefined, entries: 3, last });
    expect(verdict.notes).toHaveLength(count + 1);
    // Such an event must be about these very lines.
    const changed = [...texts];
    const after = chainOf(["good", "malformed"]);
    const forged = sealedAfter(
      { seq: 1, hash: after.texts[0]?.slice(-66, -2) ?? "" },
      auditEvent(event, clock.now(), { target: { bytes: "1", sha256: sha256("x") } }),
    );
    changed.splice(count + 1, 2, forged.text);
    expect((await verifyAudit(logOf(changed), [])).broken?.seq).toBe(count + 2);
  });

  it("shows any byte that was changed, and any entry that was removed, swapped or put in", async () => {
    const { texts, last } = chainOf(middle);
    const isFound = async (changed: readonly string[], seq: number): Promise<void> => {
      const { broken } = await verifyAudit(logOf(changed), [{ ...last, source: "the journal" }]);
      expect(broken?.seq).toBe(seq);
    };
    const property = fc.asyncProperty(
      fc.nat(texts.length - 1),
      fc.nat(1000),
      fc.integer({ min: 1, max: 127 }),
      async (at, position, change) => {
        const bytes = Buffer.from(texts[at] ?? "");
        const place = position % bytes.length;
        bytes[place] = (bytes[place] ?? 0) ^ change;
        await isFound(texts.with(at, bytes.toString("latin1")), at + 1);
      },
    );
    await fc.assert(property, { numRuns: 150 });
    for (let at = 0; at < texts.length; at += 1) {
      await isFound(texts.toSpliced(at, 1), at + 1);
      if (at + 1 < texts.length)
        await isFound(texts.with(at, texts[at + 1] ?? "").with(at + 1, texts[at] ?? ""), at + 1);
      if (at > 0) await isFound(texts.toSpliced(at, 0, texts[at - 1] ?? ""), at + 1);
    }
  });
});

describe("the reader of the audit log", () => {
  it("answers whatever is in the files, and counts unreadable entries", async () => {
    const directory = filledLog(9);
    const files = filesOf(directory).map((path) => [path, readFileSync(path)] as const);
    const log = openLog(join(directory, ".."));
    const property = fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(files.length - 1), fc.nat(3000), fc.uint8Array({ maxLength: 200 })), {
        minLength: 1,
        maxLength: 4,
      }),
      async (changes) => {
        for (const [path, bytes] of files) writeFileSync(path, bytes);
        for (const [file, at, bytes] of changes) {
          const [path = "", content = Buffer.alloc(0)] = files[file] ?? [];
          const place = at % content.length;
          writeFileSync(path, Buffer.concat([content.subarray(0, place), bytes, content.subarray(place)]));
        }
        const page = await log.list(everything, new AbortController().signal);
        expect(page.entries.length + page.unreadable).toBeGreaterThan(0);
        await verifyAudit(directory, []);
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });
});

describe("the script of docs/audit.md", () => {
  it("verifies the chain with jq and sha256sum", () => {
    const log = openLog(newDirectory());
    for (const text of ["plain", 'a "quote" and a \\', "ä 😀 \u2028 \u007f \ud800", "\u0000\n\t\u001f", "</script>"])
      write(log, text);
    const page = readFileSync(new URL("../../docs/audit.md", import.meta.url), "utf8");
    const [, script = ""] = /```bash\n(cd .*?)```/s.exec(page) ?? [];
    expect(script).toContain("sha256sum");
    const run = (directory: string): string =>
      execFileSync("/bin/bash", ["-euo", "pipefail", "-c", script.replace("/var/lib/steward/audit", directory)], {
        encoding: "utf8",
      });
    expect(run(log.directory)).toBe("whole\n");
    const [path = ""] = filesOf(log.directory);
    writeFileSync(path, readFileSync(path, "utf8").replace("plain", "plane"));
    expect(() => run(log.directory)).toThrow();
  });
});
