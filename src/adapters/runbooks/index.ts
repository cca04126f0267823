import { readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { TakeLook } from "#adapters/exec/look.ts";
import { readTextFile } from "#adapters/files/index.ts";
import type { FoundRunbooks, Runbook, RunbookFault, Runbooks } from "#domain/ports/runbooks.ts";
import { errorMessage } from "#kernel/errors.ts";
import { runbooksOfDirectory, suffix } from "./directory.ts";
import { parseRunbook, RunbookFaulty } from "./parse.ts";

/** Those that come with the service. */
const builtInDirectory = fileURLToPath(new URL("../../../runbooks", import.meta.url));

const idOf = (path: string): string => basename(path, suffix);
const byId = (one: Runbook, other: Runbook): number => (one.id < other.id ? -1 : 1);

type Parsed = ReturnType<typeof parseRunbook> | RunbookFaulty;

function parsedOf(text: string): Parsed {
  try {
    return parseRunbook(text);
  } catch (error) {
    if (error instanceof RunbookFaulty) return error;
    throw error;
  }
}

const readBuiltIn = (): readonly Runbook[] =>
  readdirSync(builtInDirectory)
    .filter((name) => name.endsWith(suffix))
    .map((name): Runbook => {
      const text = readTextFile(join(builtInDirectory, name));
      return { id: idOf(name), origin: "builtin", ...parseRunbook(text) };
    })
    .sort(byId);

/** The built-in runbooks, and those of the administrator in a directory, which need not exist. */
export function createRunbooks(ports: { readonly directory: string; readonly look: TakeLook }): Runbooks {
  const directory = resolve(ports.directory);
  let builtIn: readonly Runbook[] | undefined;
  /** What was made of the texts of the last time, also that they are faulty: a header may take long to read. */
  let known = new Map<string, Parsed>();

  async function readLocal(signal: AbortSignal): Promise<FoundRunbooks> {
    const runbooks: Runbook[] = [];
    const faults: RunbookFault[] = [];
    const parsed = new Map<string, Parsed>();
    const isFaulty = (file: string, reason: string): void => void faults.push({ file, reason });
    const { answers, silent, isWhole } = await ports.look(runbooksOfDirectory, directory, signal);
    for (const [path, answer] of answers) {
      if (answer === null) continue;
      if ("fault" in answer) {
        isFaulty(path, answer.fault);
        continue;
      }
      const { text } = answer;
      const made = known.get(text) ?? parsedOf(text);
      parsed.set(text, made);
      if (made instanceof RunbookFaulty) isFaulty(path, made.message);
      else runbooks.push({ id: idOf(path), origin: "local", ...made });
    }
    known = parsed;
    for (const path of silent) isFaulty(path, "its file system gives no answer");
    if (!isWhole && silent.size === 0) isFaulty(directory, "there was no time left to read all of it");
    return { runbooks: runbooks.sort(byId), faults };
  }

  return {
    async read(signal) {
      builtIn ??= readBuiltIn();
      const local = await readLocal(signal).catch((error: unknown): FoundRunbooks => {
        signal.throwIfAborted();
        return { runbooks: [], faults: [{ file: directory, reason: errorMessage(error) }] };
      });
      const replaced = new Set(local.runbooks.map(({ id }) => id));
      return {
        runbooks: [...local.runbooks, ...builtIn.filter(({ id }) => !replaced.has(id))],
        faults: local.faults,
      };
    },
  };
}
