import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "../clock/index.ts";
import { type Ask, answerAsk } from "./answering.ts";
import { createAskRoot } from "./asking.ts";
import { isAskId } from "./record.ts";

const uid = process.getuid?.() ?? 0;
let base: string;
let places: { readonly runDir: string; readonly answersDir: string };
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "steward-asks-"));
  places = { runDir: join(base, "run"), answersDir: join(base, "answers") };
  mkdirSync(places.runDir, { mode: 0o700 });
  mkdirSync(places.answersDir, { mode: 0o700 });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const idOf = (unit: string): string => /^steward-task@(.*)\.service$/.exec(unit)?.[1] ?? "";
const answer = (
  id: string,
  respond: (ask: Ask) => Promise<unknown>,
  { isAdmitted = true }: { isAdmitted?: boolean } = {},
): Promise<boolean> =>
  answerAsk(id, { places, uid, clock: systemClock, isAdmitted, busy: "busy", tooLong: "too long", respond });
/** Starts root's side in this process. */
const starting =
  (respond: (ask: Ask) => Promise<unknown>) =>
  async (unit: string): Promise<string> =>
    (await answer(idOf(unit), respond)) ? "done" : "failed";
const asker = (start: (unit: string) => Promise<string>) => createAskRoot({ places, start, clock: systemClock });
const usual = () => ({ timeoutMs: 5_000, signal: new AbortController().signal });

it("brings what is asked to root, and the answer back, and leaves nothing of the ask", async () => {
  const ask = asker(starting(({ text }) => Promise.resolve({ heard: JSON.parse(text) })));
  expect(await ask({ a: [1] }, usual())).toEqual({ heard: { a: [1] } });
  expect(readdirSync(join(places.runDir, "asks"))).toEqual([]);
  const [name = "", ...others] = readdirSync(places.answersDir);
  expect([isAskId(name.replace(/\.json$/, "")), others]).toEqual([true, []]);
});

it("asks four things at a time", async () => {
  let atWork = 0;
  let most = 0;
  const ask = asker(
    starting(async () => {
      atWork += 1;
      most = Math.max(most, atWork);
      await sleep(20);
      atWork -= 1;
      return {};
    }),
  );
  await Promise.all(Array.from({ length: 10 }, () => ask({}, usual())));
  expect(most).toBe(4);
});

it("tells root when nobody waits any longer", async () => {
  const abort = new AbortController();
  const ask = asker(
    starting(({ cancelled }) => {
      abort.abort();
      return new Promise((resolve) => cancelled.addEventListener("abort", () => resolve("cancelled")));
    }),
  );
  expect(await ask({}, { timeoutMs: 5_000, signal: abort.signal })).toBe("cancelled");
});

it("takes the end of the service for the end of waiting", async () => {
  const id = `ask-${"1".repeat(32)}`;
  mkdirSync(join(places.runDir, "asks"), { mode: 0o700 });
  writeFileSync(join(places.runDir, "asks", `${id}.json`), "{}");
  const respond = ({ cancelled }: Ask) => {
    rmSync(places.runDir, { recursive: true });
    return new Promise((resolve) => cancelled.addEventListener("abort", () => resolve(String(cancelled.reason))));
  };
  expect(await answer(id, respond)).toBe(true);
  expect(readFileSync(join(places.answersDir, `${id}.json`), "utf8")).toContain("the service has ended");
});

it("finds the answer when nobody hears of the job any more", async () => {
  const ask = asker((unit) => {
    void sleep(300).then(() => answer(idOf(unit), () => Promise.resolve("late")));
    return Promise.resolve("lost");
  });
  expect(await ask({}, usual())).toBe("late");
});

it("says that there was no answer, and why nothing could be started", async () => {
  await expect(asker(() => Promise.resolve("failed"))({}, usual())).rejects.toThrow(/gave no answer/);
  const refused = asker(() => Promise.reject(new Error("systemd does not allow it")));
  await expect(refused({}, usual())).rejects.toThrow(/does not allow it/);
});

it("answers once, and not what is not there", async () => {
  const id = `ask-${"0".repeat(32)}`;
  expect(await answer(id, () => Promise.resolve(1))).toBe(false);
  mkdirSync(join(places.runDir, "asks"), { mode: 0o700 });
  writeFileSync(join(places.runDir, "asks", `${id}.json`), "{}");
  expect(await answer(id, () => Promise.resolve(1))).toBe(true);
  expect(await answer(id, () => Promise.reject(new Error("done twice")))).toBe(false);
});

it("answers that it is busy where there was no place", async () => {
  const asks = join(places.runDir, "asks");
  mkdirSync(asks, { mode: 0o700 });
  const id = `ask-${"a".repeat(32)}`;
  writeFileSync(join(asks, `${id}.json`), "{}");
  const heard: string[] = [];
  const respond = ({ text }: Ask) => Promise.resolve(heard.push(text));
  expect(await answer(id, respond, { isAdmitted: false })).toBe(true);
  expect([heard, readFileSync(join(places.answersDir, `${id}.json`), "utf8")]).toEqual([[], '"busy"']);
});

it("keeps answers for a while, and no more than some", async () => {
  const asks = join(places.runDir, "asks");
  mkdirSync(asks, { mode: 0o700 });
  const old = (Date.now() - 10 * 60_000) / 1000;
  for (let at = 0; at < 80; at += 1) {
    const path = join(places.answersDir, `ask-${String(at).padStart(32, "0")}.json`);
    writeFileSync(path, "{}");
    if (at < 10) utimesSync(path, old, old);
  }
  const id = `ask-${"f".repeat(32)}`;
  writeFileSync(join(asks, `${id}.json`), "{}");
  await answer(id, () => Promise.resolve({}));
  const kept = readdirSync(places.answersDir).filter((name) => name.startsWith("ask-"));
  expect(kept).toHaveLength(65);
  expect(kept).not.toContain(`ask-${"3".padStart(32, "0")}.json`);
});
