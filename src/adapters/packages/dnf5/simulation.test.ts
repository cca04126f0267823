import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePlan, parseTable } from "./simulation.ts";

/** Of `dnf5 --assumeno upgrade`, with what it skips below. */
const text = `Package                 Arch   Version Repository      Size
Removing:
 kernel                 noarch 0:1.0-1 base        12.0   B
Removing dependent packages:
 needy                  noarch 0:1.0-1 @System      0.0   B
Upgrading:
 a-name-that-is-too-long-for-its-column noarch 1:2.0-1 base 1.2 MiB
   replacing a-name-that-is-too-long-for-its-column noarch 0:1.0-1 base 12.0   B
 app                    x86_64 0:2.0-1 base        12.0   B
   replacing app        x86_64 0:1.0-1 base        12.0   B
   replacing app-extras noarch 0:1.0-1 base        12.0   B
Installing:
 kernel                 noarch 0:3.0-1 base        18.0 MiB
 successor              noarch 0:2.0-1 base        12.0   B
   replacing replaced   noarch 0:1.0-1 base        12.0   B
Installing dependencies:
 extra                  noarch 0:1.0-1 base        12.0   B
Downgrading:
 down                   noarch 0:0.9-1 base        12.0   B
   replacing down       noarch 0:1.0-1 base        12.0   B
Reinstalling:
 again                  noarch 0:1.0-1 base        12.0   B
   replacing again      noarch 0:1.0-1 base        12.0   B
Skipping packages with broken dependencies:
 broken                 noarch 0:3.0-1 base        12.0   B

Transaction Summary:
 Installing:         3 packages
 Reinstalling:       1 package
 Upgrading:          2 packages
 Replacing:          6 packages
 Removing:           2 packages
 Downgrading:        1 package
 Skipping:           1 package

Operation aborted by the user.
`;

describe("what dnf5 would do", () => {
  it("is read completely, without what is skipped", () => {
    const rows = parsePlan(text)?.map(
      ({ kind, name, architecture, version, replaces }) =>
        `${kind} ${name} ${architecture} ${version} ${replaces.join()}`,
    );
    expect(rows).toEqual([
      "remove kernel noarch 1.0-1 ",
      "remove needy noarch 1.0-1 ",
      "upgrade a-name-that-is-too-long-for-its-column noarch 1:2.0-1 ",
      "upgrade app x86_64 2.0-1 app-extras-1.0-1.noarch",
      "install kernel noarch 3.0-1 ",
      "install successor noarch 2.0-1 replaced-1.0-1.noarch",
      "install extra noarch 1.0-1 ",
      "downgrade down noarch 0.9-1 ",
      "reinstall again noarch 1.0-1 ",
    ]);
  });

  it.each([
    ["a row fewer than are counted", text.replace(/^ extra .*\n/m, "")],
    ["a row that cannot be read", text.replace("0:3.0-1 base", "0:3.0-1")],
    ["a replaced package fewer than are counted", text.replace(/^ {3}replacing replaced .*\n/m, "")],
  ])("is not believed with %s", (_what, wrong) => {
    expect(() => parsePlan(wrong)).toThrow("cannot read what dnf5 would do");
  });

  it("is nothing without a table", () => {
    expect(parsePlan("Nothing to do.\n")).toBeUndefined();
    expect(parsePlan("")).toBeUndefined();
  });

  it("may be any text", () => {
    fc.assert(fc.property(fc.string(), (any) => void parseTable(any)));
  });
});
