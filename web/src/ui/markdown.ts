/** A piece of a line: text, or text with a meaning. */
export type Inline =
  | string
  | { readonly is: "code" | "strong" | "em"; readonly text: string }
  | { readonly is: "link"; readonly text: string; readonly href: string };

export type Block =
  | { readonly is: "heading"; readonly level: number; readonly text: readonly Inline[] }
  | { readonly is: "paragraph"; readonly text: readonly Inline[] }
  | { readonly is: "list"; readonly isOrdered: boolean; readonly items: readonly (readonly Inline[])[] }
  | { readonly is: "code"; readonly text: string };

/** Links lead to pages alone. All else, markup of HTML too, is text. */
const piece =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^[\]\n]{1,500})\]\((https?:\/\/[^\s()<>]{1,2000})\)/g;

export function inlinesOf(line: string): readonly Inline[] {
  const found: Inline[] = [];
  let at = 0;
  for (const match of line.matchAll(piece)) {
    const [whole, code, strong, em, text, href] = match;
    if (match.index > at) found.push(line.slice(at, match.index));
    at = match.index + whole.length;
    if (code !== undefined) found.push({ is: "code", text: code });
    else if (strong !== undefined) found.push({ is: "strong", text: strong });
    else if (em !== undefined) found.push({ is: "em", text: em });
    else if (text !== undefined && href !== undefined) found.push({ is: "link", text, href });
  }
  if (at < line.length) found.push(line.slice(at));
  return found;
}

const fence = /^ {0,3}```/;
const heading = /^ {0,3}(#{1,6})(?=\s)(.*)$/;
const closing = /(?<=^|\s)#+$/;
const bullet = /^\s{0,9}[-*+]\s+(.*)$/;
const numbered = /^\s{0,9}\d{1,9}[.)]\s+(.*)$/;

/** The blocks of a text: headings, lists without levels, code between fences, and paragraphs. */
export function blocksOf(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  /** What the next line continues with. */
  let open: { readonly is: "paragraph" | "ordered" | "bullets"; readonly lines: string[] } | undefined;
  const close = (): void => {
    if (open?.is === "paragraph") blocks.push({ is: "paragraph", text: inlinesOf(open.lines.join(" ")) });
    else if (open !== undefined)
      blocks.push({ is: "list", isOrdered: open.is === "ordered", items: open.lines.map(inlinesOf) });
    open = undefined;
  };
  const item = (is: "ordered" | "bullets", text: string): void => {
    if (open?.is !== is) close();
    open ??= { is, lines: [] };
    open.lines.push(text);
  };
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const [, marks = "", rest = ""] = heading.exec(line) ?? [];
    const title = rest.trim().replace(closing, "").trim();
    const [, bulleted] = bullet.exec(line) ?? [];
    const [, ordered] = numbered.exec(line) ?? [];
    if (fence.test(line)) {
      close();
      const end = lines.findIndex((each, place) => place > at && fence.test(each));
      const last = end < 0 ? lines.length : end;
      blocks.push({ is: "code", text: lines.slice(at + 1, last).join("\n") });
      at = last;
    } else if (line.trim() === "") close();
    else if (title !== "") {
      close();
      blocks.push({ is: "heading", level: marks.length, text: inlinesOf(title) });
    } else if (bulleted !== undefined) item("bullets", bulleted);
    else if (ordered !== undefined) item("ordered", ordered);
    else if (open === undefined) open = { is: "paragraph", lines: [line.trim()] };
    else open.lines.push(`${open.lines.pop() ?? ""} ${line.trim()}`);
  }
  close();
  return blocks;
}
