import { isRecord } from "#kernel/values.ts";
import { redact } from "./redact.ts";

const esc = "\u001b";
const bell = "\u0007";
/** Control sequences of terminals: colours, titles, hyperlinks. */
const sequences = new RegExp(`${esc}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${bell}${esc}]*(?:${bell}|${esc}\\\\)|[@-_])`, "g");
/** What shows nothing, or changes how other text is shown: a reader would not see what a model reads. */
const invisible = /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

const cleanedText = (text: string) => redact(text.replaceAll(sequences, "").replaceAll(invisible, ""));

/** Text of the host as a model may see it: no secrets of a known shape, nothing that a person would not see. */
export const cleanText = (text: string): string => cleanedText(text).text;

/** What a client sends back as it is. Random text has the shape of a secret now and then, and would be useless without it. */
const handles = new Set(["plan_token", "cursor", "next_cursor"]);
const isHandle = (name: string, value: unknown): boolean =>
  handles.has(name) && typeof value === "string" && /^[!-~]{1,512}$/.test(value);

/**
 * {@link cleanText} for every text in a value; names of members are the service's own or cleaned as well.
 * @param redacted called with the number of secrets of each text.
 */
export function cleaned(value: unknown, redacted?: (count: number) => void): unknown {
  if (typeof value === "string") {
    const { text, count } = cleanedText(value);
    redacted?.(count);
    return text;
  }
  if (Array.isArray(value)) return value.map((each) => cleaned(each, redacted));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      cleanText(name),
      isHandle(name, each) ? each : cleaned(each, redacted),
    ]),
  );
}
