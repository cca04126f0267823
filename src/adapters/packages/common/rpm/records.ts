import { randomBytes } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
import { toError } from "#kernel/errors.ts";

/** Texts that no package can have in what it says of itself, since they are new each time. */
export interface Marks {
  readonly field: string;
  readonly item: string;
  readonly record: string;
}

export function createMarks(): Marks {
  const secret = randomBytes(12).toString("hex");
  return { field: `-${secret}f-`, item: `-${secret}i-`, record: `-${secret}r-` };
}

/** The longest record that is waited for; those with many files have a megabyte. */
const maxRecordLength = 8 * 1024 * 1024;

/** Cuts bytes that come in pieces into records of so many fields; others are left out. */
export function createRecordReader(marks: Marks, count: number, onRecord: (fields: readonly string[]) => void) {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let fault: Error | undefined;
  const take = (text: string): void => {
    const all = rest + text;
    const records = all.split(marks.record);
    rest = records.pop() ?? "";
    for (const record of records) {
      // Dnf ends each with a line end of its own.
      const fields = record.replace(/^\n/, "").split(marks.field);
      if (fields.length === count) onRecord(fields);
    }
    if (rest.length > maxRecordLength) throw new RangeError(`a record is longer than ${maxRecordLength} characters`);
  };
  return {
    /** For bytes of a program, which is not to be stopped by what is wrong with them. */
    take: (chunk: Buffer): void => {
      if (fault !== undefined) return;
      try {
        take(decoder.write(chunk));
      } catch (error) {
        fault = toError(error);
      }
    },
    /** @throws Error what was wrong. */
    end(): void {
      if (fault !== undefined) throw fault;
    },
  };
}

export function parseRecords(text: string, marks: Marks, count: number): readonly (readonly string[])[] {
  const records: (readonly string[])[] = [];
  const reader = createRecordReader(marks, count, (fields) => records.push(fields));
  reader.take(Buffer.from(text));
  reader.end();
  return records;
}
