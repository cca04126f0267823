import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LoggedTransaction } from "#domain/ports/package-catalog.ts";
import { parseLog, timeOf } from "./log.ts";

const read = (text: string): readonly LoggedTransaction[] => parseLog(text, (name) => (name === "app" ? "x86_64" : ""));
const reported = ({ packages }: LoggedTransaction): readonly string[] =>
  packages.map(({ name, action, from, to }) => `${action} ${name} ${from} ${to}`);

/** Of pacman 6.0.2. */
const recorded = `[2026-11-26T17:51:09+0000] [PACMAN] Running 'pacman --noconfirm -Sy'
[2026-11-26T17:51:09+0000] [PACMAN] synchronizing package lists
[2026-11-26T17:51:10+0000] [PACMAN] Running 'pacman -Su'
[2026-11-26T17:51:10+0000] [PACMAN] starting full system upgrade
[2026-11-26T17:51:11+0000] [ALPM] transaction started
[2026-11-26T17:51:11+0000] [ALPM] upgraded library (1.0-1 -> 2:2.0-1)
[2026-11-26T17:51:11+0000] [ALPM-SCRIPTLET] [2026-11-26T17:51:11+0000] [ALPM] removed evil (1.0-1)
[2026-11-26T17:51:11+0000] [ALPM] installed app (1.0-1)
[2026-11-26T17:51:11+0000] [ALPM] warning: /etc/app/conf installed as /etc/app/conf.pacnew
[2026-11-26T17:51:12+0000] [ALPM] transaction completed
[2026-11-26T17:51:12+0000] [ALPM] running 'update.hook'...
[2026-11-26T17:51:13+0000] [PACMAN] Running 'pacman -R --noconfirm a'b c'
[2026-11-26T17:51:13+0000] [ALPM] transaction started
[2026-11-26T17:51:13+0000] [ALPM] reinstalled extra (1.0-1)
[2026-11-26T17:51:13+0000] [ALPM] downgraded library (2:2.0-1 -> 1.0-1)
[2026-11-26T17:51:13+0000] [ALPM] removed app (1.0-1)
[2026-11-26T17:51:14+0000] [ALPM] error: could not remove something
[2026-11-26T17:51:14+0000] [ALPM] transaction failed
[2026-11-26T17:51:15+0000] [PACMAN] Running 'pacman -S slow'
[2026-11-26T17:51:15+0000] [ALPM] transaction started
[2026-11-26T17:51:15+0000] [ALPM] installed slow (1.0-1)
`;

describe("pacman's log", () => {
  it("is read with commands, what changed and what failed", () => {
    const [first, second, third, ...others] = read(recorded);
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      startedAt: Date.UTC(2026, 10, 26, 17, 51, 11),
      endedAt: Date.UTC(2026, 10, 26, 17, 51, 12),
      commandLine: "pacman -Su",
      requestedBy: undefined,
      error: undefined,
    });
    expect(first && reported(first)).toEqual(["upgrade library 1.0-1 2:2.0-1", "install app undefined 1.0-1"]);
    expect(first?.packages.map(({ architecture }) => architecture)).toEqual(["", "x86_64"]);
    expect(second).toMatchObject({
      commandLine: "pacman -R --noconfirm a'b c",
      error: "transaction failed\nerror: could not remove something",
    });
    expect(second && reported(second)).toEqual([
      "reinstall extra 1.0-1 1.0-1",
      "downgrade library 2:2.0-1 1.0-1",
      "remove app 1.0-1 undefined",
    ]);
    expect(third).toMatchObject({ commandLine: "pacman -S slow", endedAt: undefined, error: undefined });
  });

  it("is read as older versions and other programs wrote it", () => {
    const found = read(`[2012-01-31 12:00] Running 'pacman -S none'
[2012-01-31 12:00] installed filesystem (2011.12-2)
[2012-01-31 12:01] upgraded filesystem (2011.12-2 -> 2011.12-2)
[2012-02-01 12:00] removed filesystem (2011.12-2)
[2014-01-31 12:00] [PACMAN] Running 'pacman -S app'
[2014-01-31 12:00] [PACMAN] installed app (1-1)
[2014-01-31 12:05] [PAMAC] synchronizing package lists
[2014-01-31 22:05] [ALPM] upgraded app (1-1 -> 2-1)
`);
    expect(found.map((each) => [each.commandLine, ...reported(each)])).toEqual([
      ["", "install filesystem undefined 2011.12-2", "reinstall filesystem 2011.12-2 2011.12-2"],
      ["", "remove filesystem 2011.12-2 undefined"],
      ["pacman -S app", "install app undefined 1-1"],
      ["", "upgrade app 1-1 2-1"],
    ]);
    expect(found[0]).toMatchObject({
      startedAt: new Date(2012, 0, 31, 12, 0).getTime(),
      endedAt: new Date(2012, 0, 31, 12, 1).getTime(),
    });
  });

  it("is read whatever it has", () => {
    const piece = fc.constantFrom(
      ...["[2026-11-26T17:51:09+0000] ", "[2026-11-26 17:51] ", "[2026-99-26 17:51] ", "[ALPM] ", "[PACMAN] "],
      ...["Running '", "'", "transaction started", "transaction completed", "transaction failed", "installed a (1)"],
      ...["upgraded a (1 -> 2)", "upgraded a (1)", "error: x", "removed __proto__ (1)", "\r", "\0"],
    );
    const line = fc.array(fc.oneof({ weight: 5, arbitrary: piece }, fc.string()), { maxLength: 5 });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
        for (const { startedAt, endedAt, packages, error } of read(lines.map((each) => each.join("")).join("\n"))) {
          expect(Number.isFinite(startedAt) && (endedAt === undefined || Number.isFinite(endedAt))).toBe(true);
          expect(packages.length > 0 || error !== undefined).toBe(true);
          for (const { name, from, to } of packages) expect([name, from ?? to]).not.toContain("");
        }
      }),
    );
    expect(read(`[${"x".repeat(1_000_000)}`)).toEqual([]);
    expect(read(`[2026-11-26T17:51:09+0000] installed ${"(".repeat(1_000_000)}`)).toEqual([]);
    const many = `[2026-11-26T17:51:09+0000] [ALPM] error: ${"x".repeat(2000)}\n`.repeat(1000);
    const [failed] = read(
      `[2026-11-26T17:51:09+0000] [ALPM] transaction started\n${many}[2026-11-26T17:51:09+0000] [ALPM] transaction failed`,
    );
    expect(failed?.error?.length).toBeLessThan(21_000);
  });
});

it.each([
  ["2026-01-31T12:00:05+0100", Date.UTC(2026, 0, 31, 11, 0, 5)],
  ["2026-01-31T12:00:05-03:30", Date.UTC(2026, 0, 31, 15, 30, 5)],
  ["2026-01-31T12:00:05Z", Date.UTC(2026, 0, 31, 12, 0, 5)],
  ["2026-01-31T12:00:05", new Date(2026, 0, 31, 12, 0, 5).getTime()],
  ["2026-01-31 12:00", new Date(2026, 0, 31, 12, 0).getTime()],
  ["2026-01-32 12:00", undefined],
  ["2026-01-31T24:00:00Z", undefined],
  ["yesterday", undefined],
])("reads the time %s", (text, expected) => expect(timeOf(text)).toBe(expected));
