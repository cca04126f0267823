import type { Described } from "../common/catalog.ts";
import { createOutputLines, parseShownFields } from "../common/output.ts";
import { describedOf } from "../common/rpm/described.ts";
import { parseElements } from "./output.ts";

/** A package longer than this is wrong. */
const maxRecordLength = 8 * 1024 * 1024;

/** What is only installed is in a repository of this name. */
const isSystem = (repository: string): boolean => repository === "(System Packages)" || repository === "@System";

interface Row {
  /** Letters: `i` for installed, `v` for another version of what is, `l` for held. */
  readonly status: string;
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly repository: string;
}

/** A row of the table; what belongs to it is further in. */
function rowOf(line: string): Row | undefined {
  const [, status, name, kind, version, architecture, repository] =
    /^(?! {4})([^|]{1,4})\| (\S+) +\| (\S+) +\| (\S+) +\| (\S+) +\| (.*)$/.exec(line) ?? [];
  if (status === undefined || name === undefined || version === undefined || kind !== "package") return undefined;
  return { status, name, version, architecture: architecture ?? "", repository: (repository ?? "").trim() };
}

const attribute = /^ {4}([a-z]+):(?: (.*))?$/;
const outdented = (line: string): string => line.replace(/^ {4}/, "");

/** What is printed below a row: attributes, and a description between them that may look like some. */
function attributesOf(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const add = (line: string): void => {
    const [, name = "", value = ""] = attribute.exec(line) ?? [];
    found.set(name, [...(found.get(name) ?? []), value]);
  };
  const begin = lines.indexOf("    description:");
  const before = begin < 0 ? lines : lines.slice(0, begin);
  const text = begin < 0 ? [] : lines.slice(begin + 1);
  let end = text.length;
  while (end > 0 && attribute.test(text[end - 1] ?? "")) end -= 1;
  for (const line of [...before, ...text.slice(end)]) if (attribute.test(line)) add(line);
  const summary = before.indexOf("    summary:");
  if (summary >= 0) found.set("summary", [outdented(before[summary + 1] ?? "")]);
  found.set("description", [text.slice(0, end).map(outdented).join("\n").trimEnd()]);
  return found;
}

function describedRow({ name, version, architecture, repository }: Row, lines: readonly string[]): Described {
  const attributes = attributesOf(lines);
  const first = (field: string): string => attributes.get(field)?.[0] ?? "";
  const all = (field: string): string => (attributes.get(field) ?? []).join("\n");
  return describedOf([
    ...[name, version, architecture, repository, first("group"), first("packager"), first("vendor"), first("url")],
    ...[first("downloadsize"), first("installsize"), first("summary"), all("requires"), all("provides")],
    first("description"),
  ]);
}

/** Whether a row is of a repository, and not of a version that is held back from what is installed. */
const isOffered = ({ status, repository }: Row): boolean => !isSystem(repository) && !/[iv].*l/.test(status);

/** Reads `search --verbose` of everything, in pieces: the only form in which zypper prints all that the lists have. */
export function createListReader(take: (found: Described) => void) {
  let row: Row | undefined;
  let lines: string[] = [];
  let length = 0;

  const finish = (): void => {
    if (row !== undefined && isOffered(row)) take(describedRow(row, lines));
    row = undefined;
    lines = [];
    length = 0;
  };
  const reader = createOutputLines((line) => {
    const next = rowOf(line);
    if (next !== undefined) {
      finish();
      row = next;
    } else if (row !== undefined) {
      lines.push(line);
      length += line.length + 1;
    }
    if (length > maxRecordLength) throw new RangeError(`a package has more than ${maxRecordLength} characters`);
  });

  return {
    take: reader.take,
    /** @throws Error what was wrong. */
    end(): void {
      reader.end();
      finish();
    },
  };
}

const units: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };

/** Bytes of `1.2 MiB`, as exact as that is. */
function bytesOf(text: string): string {
  const [, amount, unit = ""] = /^(\d{1,12}(?:\.\d+)?) (\w+)$/.exec(text) ?? [];
  const size = Object.hasOwn(units, unit) ? units[unit] : undefined;
  return amount === undefined || size === undefined ? "" : String(Math.round(Number(amount) * size));
}

/** Reads `info`: what zypper would install of each name. Values of several lines are further in. */
export const parseInfo = (text: string): readonly Described[] =>
  parseElements(text).flatMap((element) => {
    if (element.name !== "message" || !element.text.startsWith("Repository")) return [];
    const fields = parseShownFields(element.text.split("\n"));
    const first = (name: string): string => fields.get(name)?.[0]?.trim() ?? "";
    // `---` for none, `[2]` before two.
    const all = (name: string): string =>
      (fields.get(name) ?? [])
        .map(outdented)
        .filter((each) => each !== "" && !/^(?:---|\[\d+\])$/.test(each))
        .join("\n");
    if (isSystem(first("Repository"))) return [];
    const described = describedOf([
      ...[first("Name"), first("Version"), first("Arch"), first("Repository"), "", "", first("Vendor")],
      ...[first("Upstream URL"), "", bytesOf(first("Installed Size")), first("Summary"), all("Requires")],
      ...[all("Provides"), (fields.get("Description") ?? []).slice(1).map(outdented).join("\n").trimEnd()],
    ]);
    return described.name === "" ? [] : [described];
  });
