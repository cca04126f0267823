import { SaxesParser } from "saxes";
import type { Progress } from "#domain/ports/packages.ts";
import { type ScriptError, scriptFailuresBy } from "../common/output.ts";
import { parseNevra } from "../common/rpm/names.ts";
import type { OutputReader } from "../common/transactions.ts";

export interface XmlElement {
  readonly name: string;
  readonly parent: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Reads `--xmlout`, from any point on. What programs print between elements is text, well-formed or not. */
export function createXmlReader(): (piece: string) => readonly XmlElement[] {
  const open: { name: string; attributes: XmlElement["attributes"]; text: string }[] = [];
  let ended: XmlElement[] = [];
  const parser = new SaxesParser<{ readonly xmlns: false; readonly fragment: true }>({ xmlns: false, fragment: true });
  parser.on("error", () => undefined);
  parser.on("opentag", ({ name, attributes }) => void open.push({ name, attributes: { ...attributes }, text: "" }));
  parser.on("text", (text) => {
    const around = open.at(-1);
    if (around !== undefined) around.text += text;
  });
  parser.on("closetag", ({ name }) => {
    const at = open.findLastIndex((each) => each.name === name);
    const [found] = at < 0 ? [] : open.splice(at);
    if (found !== undefined) ended.push({ ...found, parent: open.at(-1)?.name ?? "" });
  });

  return (piece) => {
    ended = [];
    parser.write(piece);
    return ended;
  };
}

export const parseElements = (text: string): readonly XmlElement[] => createXmlReader()(text);

const most = 3;
/** Of what a script prints before it fails so much is reported. */
const linesOfOne = 4;

const linesIn = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

const failedScripts = [
  /^(?:warning|error): %(?<script>\w+)\((?<nevra>[^)]+)\) scriptlet failed, (?<said>.+)$/,
  /^error: lua script failed: \[string "%(?<script>\w+)\((?<nevra>[^)]+)\)"\]:\d+: (?<said>.+)$/,
];

const nameIn = (nevra: string): string => parseNevra(nevra)?.name ?? nevra;

/** Scripts that failed, from what rpm printed. Zypper continues after those that run when the files are there already. */
export function parseScriptErrors(text: string): readonly ScriptError[] {
  const lines = parseElements(text).flatMap((each) => (each.name === "message" ? linesIn(each.text) : []));
  return lines.flatMap((line, at) => {
    const { script, nevra, said } =
      failedScripts.map((pattern) => pattern.exec(line)?.groups).find((groups) => groups !== undefined) ?? {};
    if (script === undefined || nevra === undefined || said === undefined) return [];
    const before = lines[at - 1] ?? "";
    // What the script itself printed says more than how it ended.
    const isOwn = !/^(?:Additional rpm output:|rpm: |(?:error|warning): )/.test(before) && before !== "";
    return [{ name: nameIn(nevra), script, said: isOwn && !line.includes("lua") ? `${before}, ${said}` : said }];
  });
}

export const scriptFailures = scriptFailuresBy(parseScriptErrors);

const isEcho = (text: string): boolean =>
  /^(?:Problem occurred during or after installation|Skipping repository |Could not refresh the repositories|Some of the repositories have not)/.test(
    text,
  );

function condensed(text: string): string {
  const lines = linesIn(text)
    .filter((line) => !/^(?:rpm: |Please |History:$| *Solution \d)/.test(line))
    .map((line) => line.replace(/^Error: Subprocess failed\. Error: RPM failed: (?:rpm: .*)?/, "").replace(/^- /, ""));
  return lines
    .filter((line) => line !== "")
    .slice(0, linesOfOne)
    .join(" ");
}

function reported({ name, parent, attributes, text }: XmlElement): readonly string[] {
  const problem = linesIn(text).filter((line) => line.startsWith("Problem: "));
  if (name === "description" && parent === "prompt") return problem.map((line) => line.replace("Problem: ", ""));
  if (name !== "message" || isEcho(text.trim())) return [];
  if (attributes.type === "warning")
    return linesIn(text).filter((line) => line.startsWith("Digest verification failed"));
  return attributes.type === "error" ? [condensed(text)].filter((line) => line !== "") : [];
}

const scriptCode = 107;

export function failureReason(text: string, exitCode: number): string {
  const scripts = scriptFailures(text);
  if (scripts !== "") return scripts;
  const elements = parseElements(text);
  const own = [...new Set(elements.flatMap(reported))].slice(0, most);
  if (own.length > 0) return own.join("; ");
  const asked = elements.findLast(({ name, parent }) => name === "text" && parent === "prompt");
  if (asked !== undefined) return `it asks: ${condensed(asked.text)}`;
  if (exitCode === scriptCode) return "a script of a package failed";
  const plain = linesIn(text).filter((line) => !line.startsWith("<"));
  return plain.at(-1) ?? `exit code ${exitCode}`;
}

export function parseLockConflict(text: string): { readonly pid: number | undefined } | undefined {
  const [, by] = /System management is locked by the application with pid (\d+)/.exec(text) ?? [];
  if (by !== undefined) return { pid: Number(by) };
  return /can(?:'|&apos;)t create transaction lock/.test(text) ? { pid: undefined } : undefined;
}

export const zypperOutput: OutputReader = { failureReason, parseLockConflict };

function parseStep(
  element: XmlElement,
): { readonly isDownload: boolean; readonly at: number; readonly of: number; readonly what: string } | undefined {
  const { name, attributes, text } = element;
  const [, fetched, number, count] =
    name === "message" ? (/^Retrieving (?:package )?(\S+) \((\d+)\/(\d+)\)/.exec(text.trim()) ?? []) : [];
  if (fetched !== undefined)
    return { isDownload: true, at: Number(number), of: Number(count), what: `retrieving ${fetched}` };
  const [, at, of, verb = "", what] =
    name === "progress" ? (/^\((\d+)\/(\d+)\) (\w+):? (\S+)/.exec(attributes.name ?? "") ?? []) : [];
  if (what === undefined) return undefined;
  return { isDownload: false, at: Number(at), of: Number(of), what: `${verb.toLowerCase()} ${what}` };
}

/** To download counts as a third of all. */
const downloadPercent = 33;

export function reporter({ line: report, step }: Progress): (line: string) => void {
  const read = createXmlReader();
  let last = "";
  let reached = 0;

  const take = (element: XmlElement): void => {
    const { name, parent, text } = element;
    if (name === "message" || (name === "description" && parent === "prompt"))
      for (const line of linesIn(text)) report(line);
    const found = parseStep(element);
    if (found === undefined || found.what === last) return;
    last = found.what;
    if (!found.isDownload) report(`(${found.at}/${found.of}) ${found.what}`);
    const share = Math.min(1, (found.at - 1) / Math.max(1, found.of));
    const percent = found.isDownload ? share * downloadPercent : downloadPercent + share * (100 - downloadPercent);
    reached = Math.max(reached, Math.floor(percent));
    step(reached, found.what);
  };

  return (line) => {
    for (const element of read(`${line}\n`)) take(element);
  };
}
