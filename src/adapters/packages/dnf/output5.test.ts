import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  failureReason,
  isUnresolved,
  parseLockConflict,
  parsePlan,
  parseScriptErrors,
  parseTable,
  scriptFailures,
} from "./output5.ts";

const scripts = `[3/4] Upgrading late-0:2.0-1.noarch     100% |   5.4 KiB/s | 100.0   B |  00m00s
>>> Running %post scriptlet: late-0:2.0-1.noarch
>>> Non-critical error in %post scriptlet: late-0:2.0-1.noarch
>>> [RPM] lua script failed: [string "%post(late-2.0-1.noarch)"]:1: I will not end
[4/4] Removing late-0:1.0-1.noarch      100% |  14.0   B/s |   2.0   B |  00m00s
Transaction failed: Rpm transaction failed.
Warning: skipped OpenPGP checks for 1 package from repository: base
`;

describe("what dnf5 prints", () => {
  it("names scripts that fail", () => {
    expect(parseScriptErrors(scripts)).toEqual([
      {
        name: "late",
        script: "%post",
        said: 'lua script failed: [string "%post(late-2.0-1.noarch)"]:1: I will not end',
      },
    ]);
    const early = ">>> Error in %pre scriptlet: early-child-1:2.0-1.noarch\n";
    expect(scriptFailures(early)).toBe("early-child: its %pre script failed");
    expect(scriptFailures("Complete!\n")).toBe("");
    expect(failureReason(scripts, 1)).toMatch(/^late: its %post script failed \(lua .* I will not end\)$/);
  });

  it("has why a transaction cannot be resolved, without the advice", () => {
    const text = `Updating and loading repositories:
Repositories loaded.
Failed to resolve the transaction:
Problem: package app-2.0-1.noarch from base requires extra, but none of the providers can be installed
  - cannot install the best update candidate for package app-1.0-1.noarch
You can try to add to command line:
  --no-best to not limit the transaction to the best candidates
`;
    const reason = failureReason(text, 1);
    expect(reason).toBe(
      "Failed to resolve the transaction: Problem: package app-2.0-1.noarch from base requires extra, but none of the providers can be installed; cannot install the best update candidate for package app-1.0-1.noarch",
    );
    expect(isUnresolved(reason)).toBe(true);
    expect(isUnresolved("Transaction failed: Rpm transaction failed.")).toBe(false);
  });

  it("names the repository that does not answer", () => {
    const text = `Updating and loading repositories:
 base                                   ???% |   0.0   B/s |  -1.0   B |  ?
>>> Curl error (37): Could not read a file:// file for file:///srv/gone/repodata/repomd.xml [Could not open file]
>>> Usable URL not found
Failed to download metadata (baseurl: "file:///srv/gone") for repository "base": Usable URL not found
`;
    expect(failureReason(text, 1)).toMatch(
      /^Curl error \(37\): .*; Usable URL not found; Failed to download metadata .* for repository "base": Usable URL not found$/,
    );
  });

  it("names packages without a trusted signature", () => {
    const check = (why: string): string =>
      `Running transaction\nTransaction failed: Signature verification failed.\nOpenPGP check for package "steady-2.0-1.noarch" (/var/cache/libdnf5/base-78e6/packages/steady-2.0-1.noarch.rpm) from repo "base" has failed: ${why}\n`;
    expect(failureReason(check("The package is not signed."), 1)).toMatch(
      /^steady-2.0-1.noarch is not signed, so it cannot be verified: /,
    );
    expect(failureReason(check("Public key is not installed."), 1)).toMatch(
      /^steady-2.0-1.noarch is signed with a key that is not among those of its repository \(Public key is not installed\)/,
    );
  });

  it("has a reason in any case", () => {
    const silent = "Cannot open log file: (2) - No such file or directory [/proc/dnf5.log]. Dropping all logs.\n";
    expect(failureReason(silent, 3)).toBe("exit code 3");
    expect(failureReason(`${silent}Unknown argument "--json" for command "list".\n`, 2)).toBe(
      'Unknown argument "--json" for command "list".',
    );
  });

  it("shows that another process holds the lock", () => {
    expect(parseLockConflict("Failed to obtain rpm transaction lock. Another transaction is in progress.\n")).toEqual({
      pid: undefined,
    });
    expect(parseLockConflict("Complete!\n")).toBeUndefined();
  });
});

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
