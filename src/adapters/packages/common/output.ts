import { createLineSplitter, type OutputLine } from "#adapters/exec/line-splitter.ts";
import { toError } from "#kernel/errors.ts";

/** Of a longer line its start is reported. */
const maxLineBytes = 1024 * 1024;

/** Reports the lines of what a program prints, as it comes: the program is not stopped by what is wrong with one. */
export function createOutputLines(onLine: (line: string) => void) {
  const splitter = createLineSplitter(maxLineBytes);
  let fault: Error | undefined;
  const report = (lines: readonly OutputLine[]): void => {
    if (fault !== undefined) return;
    try {
      for (const { bytes } of lines) onLine(bytes.toString());
    } catch (error) {
      fault = toError(error);
    }
  };
  return {
    take: (chunk: Buffer): void => report(splitter.push(chunk)),
    /** @throws Error what was wrong. */
    end(): void {
      report(splitter.end());
      if (fault !== undefined) throw fault;
    },
  };
}

/** Fields as programs show them, `Name : value`, with more lines of a value below it, further in. */
export function parseShownFields(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  let values: string[] | undefined;
  for (const line of lines) {
    const [, name, value = ""] = /^(\S[^:]*?) *: ?(.*)$/.exec(line) ?? [];
    if (name === undefined) values?.push(line);
    else {
      values = [value];
      fields.set(name, values);
    }
  }
  return fields;
}

function joinFailures(failures: readonly string[], most = 3): string {
  const more = failures.length > most ? [`and ${failures.length - most} more scripts`] : [];
  return [...failures.slice(0, most), ...more].join("; ");
}

/** A script of a package that failed, and the last that it said. */
export interface ScriptError {
  readonly name: string;
  /** Which of them, where that is reported. */
  readonly script?: string;
  readonly said: string | undefined;
}

const describeScript = ({ name, script, said }: ScriptError): string =>
  `${name}: its ${script === undefined ? "" : `${script} `}script failed${said === undefined ? "" : ` (${said})`}`;

/** Says which scripts failed in an output; empty where none did. */
export const scriptFailuresBy =
  (parse: (text: string) => readonly ScriptError[]) =>
  (text: string): string =>
    joinFailures(parse(text).map(describeScript));
