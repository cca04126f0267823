import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createXmlReader,
  failureReason,
  parseElements,
  parseLockConflict,
  parseScriptErrors,
  reporter,
  scriptFailures,
} from "./output.ts";

const message = (type: string, text: string): string => `<message type="${type}">${text}</message>\n`;
const echo = message(
  "error",
  "Problem occurred during or after installation or removal of packages:\nInstallation has been aborted as directed.\nPlease see the above error message for a hint.\n",
);
const rpmOutput = (...lines: readonly string[]): string =>
  message("info", `Additional rpm output:\n${lines.join("\n")}\n\n`);
const lua = "error: lua script failed: [string &quot;%post(late-2.0-1.noarch)&quot;]:1: I will not end";

describe("scripts that fail", () => {
  it("are found in what rpm printed", () => {
    expect(parseScriptErrors(rpmOutput(lua))).toEqual([{ name: "late", script: "post", said: "I will not end" }]);
    const shell = rpmOutput("cannot find it", "warning: %post(lib-a-1:2.0-1.x86_64) scriptlet failed, exit status 3");
    expect(parseScriptErrors(shell)).toEqual([
      { name: "lib-a", script: "post", said: "cannot find it, exit status 3" },
    ]);
    expect(scriptFailures(rpmOutput(lua))).toBe("late: its post script failed (I will not end)");
  });

  it("are counted when there are many", () => {
    expect(scriptFailures(rpmOutput(lua).repeat(5))).toMatch(/; and 2 more scripts$/);
    expect(scriptFailures(message("info", "all is well"))).toBe("");
  });
});

describe("why zypper failed", () => {
  it.each([
    [
      "a file that is gone",
      message("error", "File &apos;./a.rpm&apos; not found on medium &apos;file:/srv&apos;") + echo,
      "File './a.rpm' not found on medium 'file:/srv'",
    ],
    [
      "a problem without a solution",
      '<prompt id="1">\n<description>Problem: nothing provides extra needed by app-2.0-1.noarch\n Solution 1: do not install app\n</description>\n<text>Choose from above</text>\n</prompt>\n',
      "nothing provides extra needed by app-2.0-1.noarch",
    ],
    [
      "a wrong digest",
      message(
        "warning",
        "Digest verification failed for file &apos;a.rpm&apos;\n[/srv/a.rpm]\n\n  expected 1\n  but got 2\n",
      ) + echo,
      "Digest verification failed for file 'a.rpm'",
    ],
    [
      "what rpm says",
      message(
        "error",
        "Installation of a-1-1.noarch failed:\nError: Subprocess failed. Error: RPM failed: error: unpacking of archive failed\n",
      ) + echo,
      "Installation of a-1-1.noarch failed: error: unpacking of archive failed",
    ],
    ["a question", '<prompt id="4">\n<text>Do you agree?</text>\n</prompt>\n', "it asks: Do you agree?"],
    ["something else", "Segmentation fault\n", "Segmentation fault"],
    ["nothing", "", "exit code 8"],
  ])("%s", (_what, text, reason) => expect(failureReason(text, 8)).toBe(reason));

  it("may be a script without a message", () =>
    expect(failureReason(message("info", "all done"), 107)).toBe("a script of a package failed"));
});

describe("a lock", () => {
  it("is reported with the process that holds it", () => {
    const text = "System management is locked by the application with pid 15656 (/usr/bin/zypper).\nClose this";
    expect(parseLockConflict(message("error", text))).toEqual({ pid: 15656 });
    const rpm =
      "error: can&apos;t create transaction lock on /var/lib/rpm/.rpm.lock (Resource temporarily unavailable)";
    expect(parseLockConflict(message("error", rpm))).toEqual({ pid: undefined });
    expect(parseLockConflict(echo)).toBeUndefined();
  });
});

describe("what is reported while it runs", () => {
  const run = (text: string) => {
    const lines: string[] = [];
    const steps: number[] = [];
    const report = reporter({ line: (line) => void lines.push(line), step: (percent) => void steps.push(percent) });
    for (const line of text.split("\n")) report(line);
    return { lines, steps };
  };

  it("is text and steps that only go up", () => {
    const progress = (at: number, name: string): string =>
      `<progress id="install-resolvable" name="(${at}/2) Installing: ${name}" value="50"/>\n`;
    const text =
      message("info", "Retrieving package a-1-1.noarch (1/2),   6.1 KiB") +
      message("info", "Retrieving package b-1-1.noarch (2/2),   6.1 KiB") +
      progress(1, "a-1-1.noarch").repeat(2) +
      progress(2, "b-1-1.noarch") +
      message("info", "one\ntwo\n");
    expect(run(text)).toEqual({
      lines: [
        "Retrieving package a-1-1.noarch (1/2),   6.1 KiB",
        "Retrieving package b-1-1.noarch (2/2),   6.1 KiB",
        "(1/2) installing a-1-1.noarch",
        "(2/2) installing b-1-1.noarch",
        "one",
        "two",
      ],
      steps: [0, 16, 33, 66],
    });
  });

  it("is never more than all", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(9), fc.nat(9), fc.boolean())), (given) => {
        const text = given
          .map(([at, of, isDownload]) =>
            isDownload
              ? message("info", `Retrieving package a${at} (${at}/${of})`)
              : `<progress name="(${at}/${of}) Removing: b${at}"/>`,
          )
          .join("\n");
        const { steps } = run(text);
        expect(steps).toEqual([...steps].sort((one, other) => one - other));
        for (const step of steps) expect(step >= 0 && step <= 100).toBe(true);
      }),
    );
  });
});

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

  it("are parsed as they were written", () => {
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

  it("are found although the start is missing", () => {
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
