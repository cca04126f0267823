import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LoggedTransaction } from "#domain/ports/package-catalog.ts";
import { createLogReader } from "./log.ts";

function read(text: string, beside: readonly string[] = []): readonly LoggedTransaction[] {
  const found: LoggedTransaction[] = [];
  const reader = createLogReader(
    (name) => beside.includes(name),
    (transaction) => found.push(transaction),
  );
  for (const line of text.split("\n")) reader.takeLine(line);
  reader.end();
  return found;
}

const reported = ({ packages }: LoggedTransaction): readonly string[] =>
  packages.map(({ name, action, from, to, isAutomatic }) => {
    return `${action} ${name} ${from} ${to}${isAutomatic ? " too" : ""}`;
  });

/** Of zypper 1.14.42. */
const recorded = `2026-11-26 17:16:41|command|root@host|'zypper' '--non-interactive' 'install' 'fancy'|
# 2026-11-26 17:16:41 extra-1.0-1.noarch.rpm installed ok
# Additional rpm output:
# rpm: RPM should not be used directly install RPM packages, use Alien instead!
# 
2026-11-26 17:16:41|install|extra|1.0-1|noarch||base|3e73a6cc83972502e7e511acfbbaceae94b87a4f2362eb7b56eef6b4aa15b113|
# 2026-11-26 17:16:42 fancy-1.0-1.noarch.rpm installed ok
2026-11-26 17:16:42|install|fancy|1:1.0-1|noarch|root@host|base|5b95c7a3535eca1f94c219a3c80e5aa2b0c15d1ca02bd39c8ec2a32dd1a26682|
2026-11-26 17:16:42|radd   |base|file:/srv/repository|
2026-11-26 17:16:43|command|root@host|'zypper' 'refresh'|
2026-11-26 17:16:43|command|anna@host|'zypper' 'install' '--oldpackage' 'fancy=2:0.9' 'a\\|b' 'it's' 'back\\\\slash' ''|
2026-11-26 17:16:44|install|fancy|2:0.9-1|noarch|root@host|base|10f46b31e1ef1977e34e99e7ec9fdcbbc38e4abcf1730f2235df25381cece763|
2026-11-26 17:16:44|install|extra|1.0-1|noarch||base|3e73a6cc83972502e7e511acfbbaceae94b87a4f2362eb7b56eef6b4aa15b113|
2026-11-26 17:16:44|install|fancy|1:1.0-1|noarch|root@host|base|5b95c7a3535eca1f94c219a3c80e5aa2b0c15d1ca02bd39c8ec2a32dd1a26682|
2026-11-26 17:16:45|remove |fancy|1:1.0-1|noarch|root@host|
2026-11-26 17:17:09|command|root@host|'zypper' 'install' 'early' 'late'|
# 2026-11-26 17:17:09 early-2.0-1.noarch.rpm install failed
# rpm output:
# error: lua script failed: [string "%prein(early-2.0-1.noarch)"]:1: I will not begin
# error: early-2.0-1.noarch: install failed
# 
# Commit was aborted.
`;

describe("zypper's history", () => {
  const [first, second, third, ...others] = read(recorded);

  it("is read with what was replaced, who asked and what failed", () => {
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      startedAt: new Date(2026, 10, 26, 17, 16, 41).getTime(),
      endedAt: new Date(2026, 10, 26, 17, 16, 42).getTime(),
      commandLine: "zypper --non-interactive install fancy",
      requestedBy: undefined,
      error: undefined,
    });
    expect(first && reported(first)).toEqual(["install extra undefined 1.0-1 too", "install fancy undefined 1:1.0-1"]);
    expect(second).toMatchObject({
      commandLine: "zypper install --oldpackage fancy=2:0.9 'a|b' 'it's' 'back\\slash' ''",
      requestedBy: "anna",
    });
    expect(second && reported(second)).toEqual([
      "upgrade fancy 1:1.0-1 2:0.9-1",
      "reinstall extra 1.0-1 1.0-1",
      "downgrade fancy 2:0.9-1 1:1.0-1",
      "remove fancy 1:1.0-1 undefined",
    ]);
    expect(third).toMatchObject({
      packages: [],
      endedAt: new Date(2026, 10, 26, 17, 17, 9).getTime(),
      error: [
        "early-2.0-1.noarch.rpm install failed",
        'error: lua script failed: [string "%prein(early-2.0-1.noarch)"]:1: I will not begin',
        "error: early-2.0-1.noarch: install failed",
      ].join("\n"),
    });
  });

  it("takes no command for that of what came much later, or without one", () => {
    const line = (time: string, rest: string) => `2026-01-${time}|${rest}|\n`;
    const found = read(
      line("01 10:00:00", "install|image|1-1|noarch|root@host|base|0") +
        line("01 11:00:00", "command|root@host|'zypper' 'install' 'a'") +
        line("01 13:00:00", "install|a|1-1|noarch|root@host|base|0") +
        line("02 10:00:00", "install|a|2-1|noarch|123:packagekitd|base|0"),
    );
    expect(found.map((each) => [each.commandLine, ...reported(each)])).toEqual([
      ["", "install image undefined 1-1"],
      ["zypper install a", "install a undefined 1-1"],
      ["", "upgrade a 1-1 2-1"],
    ]);
  });

  it("knows packages that are beside each other", () => {
    const line = (version: string) => `2026-01-01 10:00:00|install|kernel|${version}|x86_64||base|0|\n`;
    const text = `${line("1-1")}${line("2-1")}2026-01-01 10:00:00|remove |kernel|1-1|x86_64||\n${line("2-1")}`;
    expect(read(text, ["kernel"]).map(reported)).toEqual([
      [
        "install kernel undefined 1-1 too",
        "install kernel undefined 2-1 too",
        "remove kernel 1-1 undefined too",
        "reinstall kernel 2-1 2-1",
      ],
    ]);
  });

  it("is read whatever it has", () => {
    const piece = fc.constantFrom(
      ...[
        "2026-11-26 17:16:41",
        "2026-13-26 17:16:41",
        "|",
        "\\",
        "install",
        "remove ",
        "command",
        "# ",
        "'",
        "__proto__",
      ],
      ...["error: ", " x install failed", "root@host", "1:1.0-1", "noarch", "\0", "\r"],
    );
    const line = fc.array(fc.oneof({ weight: 5, arbitrary: piece }, fc.string()), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
        for (const { startedAt, endedAt, packages, error } of read(lines.map((each) => each.join("")).join("\n"))) {
          expect(Number.isFinite(startedAt) && (endedAt === undefined || Number.isFinite(endedAt))).toBe(true);
          expect(packages.length > 0 || error !== undefined).toBe(true);
          for (const { name, from, to } of packages) expect([name, from ?? to]).not.toContain("");
        }
      }),
    );
  });

  it("is bounded in the text of a failure, and parses long lines", () => {
    const [found] = read(`2026-01-01 10:00:00|command|root@host|x|\n${`# error: ${"x".repeat(5000)}\n`.repeat(1000)}`);
    expect(found?.error?.length).toBeLessThan(21_000);
    expect(read(`2026-01-01 10:00:00|install|${"\\|".repeat(500_000)}`)).toEqual([]);
    expect(read("\\".repeat(1_000_000))).toEqual([]);
    expect(read(`# 2026-01-01 10:00:00 ${" install".repeat(100_000)}`)).toEqual([]);
  });
});
