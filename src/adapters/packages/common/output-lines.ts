import { createLineSplitter, type OutputLine } from "#adapters/exec/line-splitter.ts";
import { toError } from "#kernel/errors.ts";

/** Of a longer line its beginning is told. */
const maxLineBytes = 1024 * 1024;

/** Tells the lines of what a program prints, as it comes: the program is not stopped by what is wrong with one. */
export function createOutputLines(onLine: (line: string) => void) {
  const splitter = createLineSplitter(maxLineBytes);
  let fault: Error | undefined;
  const tell = (lines: readonly OutputLine[]): void => {
    if (fault !== undefined) return;
    try {
      for (const { bytes } of lines) onLine(bytes.toString());
    } catch (error) {
      fault = toError(error);
    }
  };
  return {
    take: (chunk: Buffer): void => tell(splitter.push(chunk)),
    /** @throws Error what was wrong. */
    end(): void {
      tell(splitter.end());
      if (fault !== undefined) throw fault;
    },
  };
}
