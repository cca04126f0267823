import type { Diagnosis } from "#contract/diagnosis.ts";

/** A piece of the answer of a model, and what it leads to. */
export interface Segment {
  readonly text: string;
  /** It is part of a sentence that cites nothing that there is. */
  readonly isUnsupported: boolean;
  /** Of a citation: the journal entry or the call; `nothing` for one that does not exist. */
  readonly to?: { readonly entry: string } | { readonly call: string } | "nothing";
}

type Target = NonNullable<Segment["to"]>;
type Cited = Pick<Diagnosis, "cited" | "invalid_citations" | "unsupported">;

const group = /\[[LC][LC0-9 ,;\u2013-]{1,200}\]/gi;
const item = /([LC]?)([0-9]{1,4})(?:\s?[\u2013-]\s?[LC]?([0-9]{1,4}))?/gi;

/** The citations in brackets: where each stands, and what it names. */
function* citationsIn(text: string) {
  for (const { 0: list, index } of text.matchAll(group)) {
    let kind = "L";
    for (const match of list.matchAll(item)) {
      const [shown, letter = "", first = "", last = first] = match;
      if (letter !== "") kind = letter.toUpperCase();
      yield { kind, first: Number(first), last: Number(last), shown, at: index + match.index };
    }
  }
}

/**
 * What each citation leads to: the service names the entries in the order in which the answer cites them first. Behind a range that
 * ends beyond what there is, which line is which is not known.
 */
function targetsOf(answer: string, { cited, invalid_citations: invalid }: Cited): ReadonlyMap<string, Target> {
  const targets = new Map<string, Target>(invalid.map((id) => [id, "nothing"]));
  const entries = cited.filter((each) => !/^C\d+$/.test(each)).values();
  for (const { kind, first, last } of citationsIn(answer)) {
    if (kind === "L" && last !== first && invalid.includes(`L${last}`)) break;
    for (let at = first; at <= Math.min(last, first + cited.length); at += 1) {
      const id = `${kind}${at}`;
      if (targets.has(id)) continue;
      if (kind === "C") {
        if (cited.includes(id)) targets.set(id, { call: id });
        continue;
      }
      const { value: entry } = entries.next();
      if (entry !== undefined) targets.set(id, { entry });
    }
  }
  return targets;
}

/** Where the sentences without evidence stand in a line. */
const marksIn = (line: string, sentences: readonly string[]): readonly (readonly [from: number, to: number])[] =>
  sentences.flatMap((sentence) => {
    const from = line.indexOf(sentence);
    return from < 0 ? [] : [[from, from + sentence.length] as const];
  });

/** The lines of an answer in pieces. */
export function segmentsOf(answer: string, cited: Cited): readonly (readonly Segment[])[] {
  const targets = targetsOf(answer, cited);
  return answer.split("\n").map((line) => {
    const marks = marksIn(line, cited.unsupported);
    const citations = [...citationsIn(line)].map(({ kind, first, shown, at }) => ({
      ...{ at, end: at + shown.length },
      to: targets.get(`${kind}${first}`),
    }));
    const cuts = new Set([0, line.length, ...marks.flat(), ...citations.flatMap(({ at, end }) => [at, end])]);
    const places = [...cuts].sort((one, other) => one - other);
    return places.slice(1).map((end, index): Segment => {
      const at = places[index] ?? 0;
      const to = citations.find((citation) => citation.at <= at && end <= citation.end)?.to;
      const isUnsupported = marks.some(([from, until]) => from <= at && end <= until);
      return { text: line.slice(at, end), isUnsupported, ...(to !== undefined && { to }) };
    });
  });
}
