import { SaxesParser } from "saxes";

/** An element that zypper has written to its end. */
export interface XmlElement {
  readonly name: string;
  /** Name of the element around it; empty for the outermost. */
  readonly parent: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Its own text, without that of elements inside. */
  readonly text: string;
}

/**
 * Reads what zypper writes with `--xmlout`: elements, attributes and text, as they end. Its beginning may be missing, and what
 * programs print between the elements is text, well-formed or not: such faults are passed over.
 */
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

/** All elements of a whole text, in the order in which they end. */
export const parseElements = (text: string): readonly XmlElement[] => createXmlReader()(text);
