import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createXmlReader, parseElements } from "./output.ts";

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

describe("elements of zypper's output", () => {
  it("have a name, attributes, text and what is around them", () => {
    const text = `<?xml version='1.0'?>\n<stream>\n<update kind="package" name="a">one<source url="file:/srv" alias="b"/>two</update></stream>`;
    expect(parseElements(text)).toEqual([
      { name: "source", parent: "update", attributes: { url: "file:/srv", alias: "b" }, text: "" },
      { name: "update", parent: "stream", attributes: { kind: "package", name: "a" }, text: "onetwo" },
      { name: "stream", parent: "", attributes: {}, text: "\n" },
    ]);
  });

  it("come back as they went", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), (text, value) => {
        const whole = `<a>\n<b c="${escaped(value)}">${escaped(text)}</b></a>`;
        // Ends of lines become one newline (XML 1.0, §2.11).
        const read = text.replaceAll(/\r\n?/g, "\n");
        expect(parseElements(whole)[0]).toEqual({ name: "b", parent: "a", attributes: { c: value }, text: read });
      }),
    );
  });

  it("are read line by line as well as all at once", () => {
    const names = fc.constantFrom("a", "message", "prompt-x");
    const { tree } = fc.letrec<{ tree: string }>((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        fc.string().map(escaped),
        fc
          .tuple(names, fc.array(tie("tree"), { maxLength: 4 }))
          .map(([name, inner]) => `<${name}>\n${inner.join("\n")}</${name}>`),
        names.map((name) => `<${name} v="1"/>`),
      ),
    }));
    fc.assert(
      fc.property(tree, (text) => {
        const read = createXmlReader();
        const lines = text.split("\n").map((line, at, all) => (at === all.length - 1 ? line : `${line}\n`));
        expect(lines.flatMap(read)).toEqual(parseElements(text));
      }),
    );
  });

  it("are found although the beginning is missing", () => {
    expect(parseElements('ge type="info">x</message>\n<message type="error">no</message>')).toEqual([
      { name: "message", parent: "", attributes: { type: "error" }, text: "no" },
    ]);
  });

  it.each([
    ["&#65;&#x42;&apos;", "AB'"],
    ["&#0;&nbsp;&#99999999;", "&#0;&nbsp;&#99999999;"],
    ["&#x110000;", "&#x110000;"],
  ])("decode %s", (text, decoded) => expect(parseElements(`<a>${text}</a>`)[0]?.text).toBe(decoded));

  it("take any text", () => {
    fc.assert(fc.property(fc.string(), (text) => void parseElements(text)));
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("<a>", "</a>", "<b/>", "</b>", "x", "<", ">")),
        (parts) => void parseElements(parts.join("")),
      ),
    );
  });
});
