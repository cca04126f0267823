import { StringDecoder } from "node:string_decoder";

/** The longest stanza that is read; those of Debian have some kilobytes. */
const maxStanzaLength = 4 * 1024 * 1024;

/** Cuts bytes that come in pieces into the stanzas of deb822(5): paragraphs of fields, with an empty line between two. */
export function createStanzaReader(onStanza: (stanza: string) => void) {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const report = (text: string): void => {
    for (const stanza of text.split(/\n{2,}/)) if (stanza.trim() !== "") onStanza(stanza);
  };
  return {
    /** @throws RangeError for a stanza without an end. */
    take(chunk: Buffer): void {
      const all = rest + decoder.write(chunk);
      const end = all.lastIndexOf("\n\n");
      rest = end < 0 ? all : all.slice(end + 2);
      if (end >= 0) report(all.slice(0, end));
      if (rest.length > maxStanzaLength) throw new RangeError(`a stanza is longer than ${maxStanzaLength} characters`);
    },
    end(): void {
      report(rest + decoder.end());
      rest = "";
    },
  };
}

export function parseStanzas(text: string): readonly string[] {
  const stanzas: string[] = [];
  const reader = createStanzaReader((stanza) => stanzas.push(stanza));
  reader.take(Buffer.from(text));
  reader.end();
  return stanzas;
}

/** Where the value of a field begins, as dpkg and apt write its name; -1 where it is missing. */
function valueAt(stanza: string, name: string): number {
  if (stanza.startsWith(`${name}:`)) return name.length + 1;
  const at = stanza.indexOf(`\n${name}:`);
  return at < 0 ? -1 : at + name.length + 2;
}

/** The first line of a field; empty where it is missing. */
export function fieldOf(stanza: string, name: string): string {
  const at = valueAt(stanza, name);
  if (at < 0) return "";
  const end = stanza.indexOf("\n", at);
  return stanza.slice(at, end < 0 ? undefined : end).trim();
}

/** All lines of a field: those that begin with a space continue with the one before. */
export function linesOf(stanza: string, name: string): readonly string[] {
  const at = valueAt(stanza, name);
  if (at < 0) return [];
  const [first = "", ...others] = stanza.slice(at).split("\n");
  const end = others.findIndex((line) => !/^[ \t]/.test(line));
  return [first.trim(), ...(end < 0 ? others : others.slice(0, end))];
}
