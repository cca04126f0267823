import type { LoggedTransaction, PackageCatalog } from "#domain/ports/package-catalog.ts";
import { readRotated } from "../common/rotated-logs.ts";
import type { Zypper } from "./host.ts";
import { createLogReader } from "./log.ts";

/** How much of the history is read at most: it takes years to be as long. */
const mostCharacters = 48 * 1024 * 1024;

/** Packages of which several versions are installed beside each other: kernels. */
async function besideNames({ exec, places }: Pick<Zypper, "exec" | "places">, signal: AbortSignal) {
  const words = ["--query", "--queryformat=%{NAME}\\n", "--whatprovides", "--", "multiversion(kernel)"];
  const { exitCode, stdout } = await exec([...places.rpm, ...words], { signal });
  return new Set(exitCode === 0 ? stdout.trim().split("\n") : []);
}

/** What zypper and others with its library have done. To know what a package replaced, it is read from the oldest on. */
export const createHistory = ({ exec, places }: Pick<Zypper, "exec" | "places">): PackageCatalog["history"] =>
  async function* (signal) {
    const beside = await besideNames({ exec, places }, signal);
    const texts: string[] = [];
    let length = 0;
    for await (const text of readRotated(places.history, exec, signal)) {
      texts.push(text);
      length += text.length;
      if (length > mostCharacters) break;
    }
    const found: LoggedTransaction[] = [];
    const reader = createLogReader(
      (name) => beside.has(name),
      (transaction) => found.push(transaction),
    );
    for (const text of texts.reverse()) {
      signal.throwIfAborted();
      for (const line of text.split("\n")) reader.takeLine(line);
    }
    reader.end();
    yield* found.reverse();
  };
