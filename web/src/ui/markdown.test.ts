import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Block, blocksOf, type Inline, inlinesOf } from "./markdown.ts";

describe("a line of Markdown", () => {
  it.each<[string, readonly Inline[]]>([
    ["plain words", ["plain words"]],
    [
      "`df -h` **now**, *soon*",
      [{ is: "code", text: "df -h" }, " ", { is: "strong", text: "now" }, ", ", { is: "em", text: "soon" }],
    ],
    [
      "see [it](https://example.org/a?b=c).",
      ["see ", { is: "link", text: "it", href: "https://example.org/a?b=c" }, "."],
    ],
    ["[x](javascript:alert) [y](//a.b) [z](/c)", ["[x](javascript:alert) [y](//a.b) [z](/c)"]],
    ["<img src=x onerror=alert(1)> &lt;", ["<img src=x onerror=alert(1)> &lt;"]],
    ["2 * 3 * 4, a_b_c, `open", ["2 * 3 * 4, a_b_c, `open"]],
    ["", []],
  ])("in %j has its pieces", (line, pieces) => {
    expect(inlinesOf(line)).toEqual(pieces);
  });
});

describe("a text of Markdown", () => {
  it("has headings, paragraphs, lists and code", () => {
    const text =
      "# Title #\nOne line\nand its second.\n\n1. `a`:\n   first\n2) second\n- other\n\n```sh\n# no heading\n\n- no item\n```\n###### Last";
    expect(blocksOf(text)).toEqual<readonly Block[]>([
      { is: "heading", level: 1, text: ["Title"] },
      { is: "paragraph", text: ["One line and its second."] },
      { is: "list", isOrdered: true, items: [[{ is: "code", text: "a" }, ": first"], ["second"]] },
      { is: "list", isOrdered: false, items: [["other"]] },
      { is: "code", text: "# no heading\n\n- no item" },
      { is: "heading", level: 6, text: ["Last"] },
    ]);
  });

  it("is read in a time that its length bounds", () => {
    const long = 200_000;
    expect(blocksOf(`# ${"#".repeat(long)}x`)).toEqual([{ is: "heading", level: 1, text: [`${"#".repeat(long)}x`] }]);
    expect(blocksOf(`# a${" ".repeat(long)}b #`)).toEqual([
      { is: "heading", level: 1, text: [`a${" ".repeat(long)}b`] },
    ]);
    expect(blocksOf("a\n".repeat(long))).toEqual([{ is: "paragraph", text: [Array(long).fill("a").join(" ")] }]);
  });

  it("keeps what is in a fence that does not end", () => {
    expect(blocksOf("a\n```\nb\nc")).toEqual([
      { is: "paragraph", text: ["a"] },
      { is: "code", text: "b\nc" },
    ]);
  });

  it("loses no letter, and leads to http and https alone", () => {
    const parts = ["# ", "- ", "1. ", "```\n", "\n", "`", "**", "*", "[a](", "https://x.y/", ")", "<b>", "word", " "];
    const textOf = (pieces: readonly Inline[]): string =>
      pieces.map((each) => (typeof each === "string" ? each : each.text)).join("");
    const textsOf = (block: Block): readonly string[] => {
      if (block.is === "code") return [block.text];
      return block.is === "list" ? block.items.map(textOf) : [textOf(block.text)];
    };
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 40 }), (given) => {
        const text = given.join("");
        const blocks = blocksOf(text);
        const shown = blocks.flatMap(textsOf).join(" ");
        expect(shown.match(/word/g)?.length ?? 0).toBe(text.match(/word/g)?.length ?? 0);
        expect(shown.match(/<b>/g)?.length ?? 0).toBe(text.match(/<b>/g)?.length ?? 0);
        for (const href of JSON.stringify(blocks).match(/"href":"[^"]*/g) ?? [])
          expect(href).toMatch(/^"href":"https?:\/\//);
      }),
      { numRuns: 500 },
    );
  });
});
