import { createInterface } from "node:readline";
import { isatty } from "node:tty";
import { Interrupted } from "./errors.ts";
import type { Person } from "./ports.ts";

/** Nobody is at a terminal, as in a pipe. */
export const nobody: Person = {
  isThere: false,
  ask: () => Promise.resolve(undefined),
  interrupted: () => new AbortController().signal,
};

export function createPerson(ofProcess: Pick<NodeJS.Process, "stdin" | "stderr">): Person {
  let controller: AbortController | undefined;
  const interrupted = (): AbortSignal => {
    if (controller === undefined) {
      const made = new AbortController();
      controller = made;
      process.on("SIGINT", () => made.abort());
    }
    return controller.signal;
  };
  return {
    // Without `process.stdin`, which is opened with the first use and takes a part of each start.
    isThere: isatty(0) && isatty(2),
    interrupted,
    async ask(question) {
      const { stdin, stderr } = ofProcess;
      const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
      // Standard output may be a file.
      const lines = createInterface({ input: stdin, output: stderr, terminal: true });
      lines.on("SIGINT", () => {
        stderr.write("^C\n");
        reject(new Interrupted());
        lines.close();
      });
      lines.once("close", () => resolve(undefined));
      lines.question(question, (answer) => {
        resolve(answer);
        lines.close();
      });
      return promise;
    },
  };
}

/** The most that the service accepts. */
const maxInputBytes = 256 * 1024;

/** All of standard input; undefined at a terminal. @throws Error when it is too long or not UTF-8. */
export async function readInput(
  stdin: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean },
): Promise<string | undefined> {
  if (stdin.isTTY) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > maxInputBytes)
      throw new Error(`cannot hand standard input on: it is longer than ${maxInputBytes} bytes`);
    chunks.push(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    throw new Error("cannot pass standard input on: it is not UTF-8 text", { cause: error });
  }
}
