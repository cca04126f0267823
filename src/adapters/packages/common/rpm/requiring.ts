import type { RequiringPackage } from "#domain/ports/package-catalog.ts";
import { createRecordReader, type Marks } from "./records.ts";

/** For `rpm --query --all`: each package with what it refers to. */
export const referencesFormat = ({ field, item, record }: Marks): string =>
  `%{NAME}${field}[%{REQUIRENAME}${item}%{REQUIREFLAGS:deptype}${item}]${field}[%{RECOMMENDNAME}${item}]${record}`;

/** For `rpm --query` of one package: all names that it goes by, those of its files too. */
export const capabilitiesFormat = ({ field, item, record }: Marks): string =>
  `%{NAME}${field}%{ARCH}${field}[%{PROVIDENAME}${item}]${field}[%{FILENAMES}${item}]${record}`;

export const itemsOf = (text: string, { item }: Pick<Marks, "item">): readonly string[] =>
  text.split(item).filter((each) => each !== "" && each !== "(none)");

/** Without brackets that are those of an expression around it. */
function withoutBrackets(text: string): string {
  let name = text.replace(/^\(+/, "");
  while (name.endsWith(")") && name.split(")").length > name.split("(").length) name = name.slice(0, -1);
  return name;
}

/** The names in a reference, and whether one of several will do: `(app or library >= 2)`. */
export function namesInReference(text: string): { readonly names: readonly string[]; readonly isAlternative: boolean } {
  if (!text.startsWith("(")) return { names: [text], isAlternative: false };
  const parts = text.split(/ (and|or|if|unless|else|with|without) /);
  const names = parts
    .filter((_, at) => at % 2 === 0)
    .map((part) => withoutBrackets(part.split(/\s/, 1)[0] ?? ""))
    .filter((name) => name !== "");
  return { names, isAlternative: parts.some((part, at) => at % 2 === 1 && part === "or") };
}

/** Collects, of installed packages, those that refer to one of the names. @param capabilities of the package with the first name. */
export function createRequiringReader(own: string, capabilities: ReadonlySet<string>, marks: Marks) {
  const found = new Map<string, RequiringPackage>();

  const relate = (name: string, relation: RequiringPackage["relation"], references: readonly string[]): void => {
    const matching = references
      .map(namesInReference)
      .filter(({ names }) => names.some((each) => capabilities.has(each)));
    if (matching.length > 0 && !found.has(name))
      found.set(name, { name, relation, isAlternative: matching.every(({ isAlternative }) => isAlternative) });
  };

  const reader = createRecordReader(marks, 3, ([name = "", required = "", recommended = ""]) => {
    if (name === own || name === "" || found.has(name)) return;
    const words = required.split(marks.item);
    const requires = words.flatMap((word, at) => (at % 2 === 0 && word !== "" ? [[word, words[at + 1] ?? ""]] : []));
    const isBefore = (kind: string | undefined): boolean => kind?.split(",").includes("pre") ?? false;
    relate(
      name,
      "pre_depends",
      requires.flatMap(([word = "", kind]) => (isBefore(kind) ? [word] : [])),
    );
    relate(
      name,
      "depends",
      requires.map(([word = ""]) => word),
    );
    relate(name, "recommends", itemsOf(recommended, marks));
  });

  return {
    take: reader.take,
    end(): readonly RequiringPackage[] {
      reader.end();
      return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
    },
  };
}
