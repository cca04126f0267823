/** What a text may cite: the lines from L1 on of the data that was sent, and the calls from C1 on. */
export interface Citable {
  readonly lines: number;
  readonly calls: number;
}

type Kind = "L" | "C";

/** Numbers in square brackets: `[L3]`, `[L3, L7]`, `[L3-L5]`, `[L3, C2]`. */
const group = /\[([LC][LC0-9 ,;\u2013-]{1,200})\]/gi;
const item = /([LC]?)([0-9]+)(?:\s?[\u2013-]\s?([LC]?)([0-9]+))?/gi;

interface Range {
  readonly kind: Kind;
  /** As they are written: they may have any length. */
  readonly first: string;
  readonly last: string;
}

function* rangesIn(text: string): Generator<Range> {
  for (const [, list = ""] of text.matchAll(group)) {
    let kind: Kind = "L";
    for (const [, letter = "", first = "", lastLetter = "", last = first] of list.matchAll(item)) {
      if (letter !== "") kind = letter.toUpperCase() as Kind;
      const lastKind: Kind = lastLetter === "" ? kind : (lastLetter.toUpperCase() as Kind);
      if (kind === lastKind) yield { kind, first, last };
      // There is nothing between a call and a line.
      else
        yield* [
          { kind, first, last: first },
          { kind: lastKind, first: last, last },
        ];
    }
  }
}

const countOf = ({ lines, calls }: Citable, kind: Kind): number => (kind === "L" ? lines : calls);

/** What a text cites of what there is, such as `L3` and `C1`, in the order of their first mention. */
export function citedIn(text: string, citable: Citable): readonly string[] {
  const cited = new Set<string>();
  for (const { kind, first, last } of rangesIn(text)) {
    const end = Math.min(Number(last), countOf(citable, kind));
    for (let at = Math.max(1, Number(first)); at <= end; at += 1) cited.add(`${kind}${at}`);
  }
  return [...cited];
}

/** What a text cites that does not exist: `L99`. */
export function strangeIn(text: string, citable: Citable): readonly string[] {
  const strange = [...rangesIn(text)].flatMap(({ kind, first, last }) =>
    [first, last]
      .filter((at) => Number(at) < 1 || Number(at) > countOf(citable, kind))
      .map((at) => `${kind}${at.replace(/^0+(?=.)/, "")}`),
  );
  return [...new Set(strange)];
}

const marker = /^\s*(?:[-*\u2022]|\d{1,3}[.)])\s+/;
/** Between sentences; citations behind the stop belong to the sentence before, a few of them, so that no answer takes long to split. */
const between =
  /(?<=[.!?](?:\s{0,4}\[[LC][LC0-9 ,;\u2013-]{1,200}\]){0,12})\s+(?=["'(\u201c\u201e*_`]?[\p{Lu}\p{N}])|(?<=[\u3002\uff01\uff1f])/u;
const word = /\p{L}{2,}/gu;
const hanWord = /\p{Script=Han}{4,}/u;

const saysSomething = (sentence: string): boolean => hanWord.test(sentence) || (sentence.match(word)?.length ?? 0) > 1;

/** Sentences that claim something: no headings, questions, commands in a fence, or words that lead to a list. */
function claimsIn(text: string): readonly string[] {
  let isFenced = false;
  return text.split("\n").flatMap((line) => {
    if (/^\s*```/.test(line)) isFenced = !isFenced;
    if (isFenced || /^\s*(?:```|#{1,6}\s)/.test(line)) return [];
    return line
      .replace(marker, "")
      .split(between)
      .map((sentence) => sentence.trim())
      .filter((sentence) => saysSomething(sentence) && !/[:?\uff1a\uff1f]\**$/.test(sentence));
  });
}

/** Sentences of a text that cite nothing that there is. */
export const unsupportedIn = (text: string, citable: Citable): readonly string[] => [
  ...new Set(claimsIn(text).filter((sentence) => citedIn(sentence, citable).length === 0)),
];
