import type { LogEntry } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import type { RawEntry } from "./output.ts";
import { type FieldValue, fieldValue } from "./text.ts";

/** The bytes of a value as the service gives it; none of an absent one. */
export const valueBytes = (field: { readonly text?: string; readonly base64?: string } | undefined): Buffer =>
  field?.text === undefined ? Buffer.from(field?.base64 ?? "", "base64") : Buffer.from(field.text);

/** Asks for a part of one entry, as `GET /system/logs` does. */
export type AskForPart = (query: {
  readonly entry: string;
  readonly fields: string;
  readonly offset: number;
}) => Promise<Pick<LogList, "logs">>;

/** What follows of a value that did not come whole: the one of its name at this position, from a byte on. */
async function restOf(
  ask: AskForPart,
  { cursor, name, position, from }: { cursor: string; name: string; position: number; from: number },
): Promise<readonly Buffer[]> {
  const parts: Buffer[] = [];
  for (let offset: number | undefined = from; offset !== undefined; ) {
    const { logs } = await ask({ entry: cursor, fields: name, offset });
    const field = logs[0]?.fields?.filter((each) => each.name === name)[position];
    parts.push(valueBytes(field));
    const next = field?.next_offset;
    if (next !== undefined && next <= offset)
      throw new Error(`the service gives no more than ${offset} bytes of ${name}`);
    offset = next;
  }
  return parts;
}

/** An entry that was asked for with its fields, and what did not come with them. */
export async function wholeEntry({ cursor, fields = [] }: LogEntry, ask: AskForPart): Promise<RawEntry> {
  const counts = new Map<string, number>();
  const values: FieldValue[] = [];
  for (const field of fields) {
    const { name, text, next_offset: next } = field;
    const position = counts.get(name) ?? 0;
    counts.set(name, position + 1);
    const started = valueBytes(field);
    if (next === undefined) values.push(fieldValue(name, started, text));
    else {
      const rest = await restOf(ask, { cursor, name, position, from: next });
      values.push(fieldValue(name, Buffer.concat([started, ...rest])));
    }
  }
  return { cursor, fields: values };
}
