import { cleanText } from "#domain/common/clean-text.ts";
import { isRecord } from "#kernel/values.ts";
import type { Answer } from "./calls.ts";

const most = 100;

/** Where the values of an argument are listed. */
const lists: Readonly<Record<string, { operation: string; list: string; member: string }>> = {
  unit: { operation: "listServices", list: "services", member: "name" },
  name: { operation: "listServices", list: "services", member: "name" },
  id: { operation: "listChecks", list: "results", member: "check_id" },
};

/** What an argument may be, of what the caller may see: nothing where that is not known. */
export async function completionsOf(
  { name, value }: { readonly name: string; readonly value: string },
  call: (operation: string) => Promise<Answer>,
) {
  const source = Object.hasOwn(lists, name) ? lists[name] : undefined;
  if (source === undefined) return { values: [] };
  const { status, body } = await call(source.operation);
  const entries: unknown = status < 400 ? body[source.list] : [];
  const all = (Array.isArray(entries) ? entries : []).flatMap((entry): string[] => {
    const found = isRecord(entry) ? entry[source.member] : undefined;
    // What would have to be cleaned is no name that could be sent back.
    return typeof found === "string" && found.startsWith(value) && cleanText(found) === found ? [found] : [];
  });
  return { values: all.slice(0, most), total: all.length, hasMore: all.length > most };
}
