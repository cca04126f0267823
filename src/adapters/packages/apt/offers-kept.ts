import { createHash, randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isWritableByOthers } from "#adapters/files/index.ts";
import { errnoCode, orUndefined } from "#kernel/errors.ts";

export interface KeptAnswers {
  readonly recall: (question: string, key: string) => Promise<string | undefined>;
  readonly keep: (question: string, key: string, answer: string) => Promise<void>;
}

const seal = (key: string, answer: string): string =>
  createHash("sha256").update(`${key.length}\n${key}`).update(answer).digest("hex");

const isOwn = (stat: Stats): boolean => stat.uid === process.getuid?.() && !isWritableByOthers(stat);

/** A file that cannot be read or written costs a question, nothing else: a disk that is full or read-only, a directory that is gone. */
const isFileTrouble = (error: unknown): boolean => errnoCode(error) !== undefined;

const isThere = (error: unknown): boolean => errnoCode(error) === "EEXIST";

const mostBytes = 16 * 1024 * 1024;
const sealBytes = 65;

async function readOwn(path: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = await file.stat();
    const isKept = found.isFile() && isOwn(found) && found.size <= sealBytes + mostBytes;
    return isKept ? await file.readFile("utf8") : undefined;
  } finally {
    await file.close();
  }
}

/** Caches answers on disk, each with a hash of key and answer, so that neither a torn nor a foreign file is believed. */
export function createKeptAnswers(directory: string): KeptAnswers {
  const pathOf = (question: string): string => join(directory, question);

  const isOurs = async (): Promise<boolean> => {
    const found = await lstat(directory);
    return found.isDirectory() && isOwn(found);
  };

  /** What a process left that was ended while it wrote. One that is still at it will have to ask again, no more. */
  const removeUnfinished = async (question: string): Promise<void> => {
    const names = await readdir(directory);
    const unfinished = names.filter((name) => name.startsWith(`${question}.`) && name.endsWith(".new"));
    await Promise.all(unfinished.map((name) => rm(join(directory, name), { force: true })));
  };

  const write = async (question: string, content: string): Promise<void> => {
    await orUndefined(mkdir(directory, { mode: 0o700 }), isThere);
    if (!(await isOurs())) return;
    await removeUnfinished(question);
    // A task may keep the same at the same time, so each writes under a name of its own.
    const beside = join(directory, `${question}.${randomBytes(6).toString("hex")}.new`);
    await writeFile(beside, content, { mode: 0o600, flag: "wx" });
    await rename(beside, pathOf(question));
  };

  return {
    async recall(question, key) {
      if ((await orUndefined(isOurs(), isFileTrouble)) !== true) return undefined;
      const content = await orUndefined(readOwn(pathOf(question)), isFileTrouble);
      if (content === undefined) return undefined;
      const end = content.indexOf("\n");
      const answer = content.slice(end + 1);
      return end > 0 && content.slice(0, end) === seal(key, answer) ? answer : undefined;
    },

    async keep(question, key, answer) {
      if (Buffer.byteLength(answer) > mostBytes) return;
      await orUndefined(write(question, `${seal(key, answer)}\n${answer}`), isFileTrouble);
    },
  };
}
