import { describe, expect, it } from "vitest";
import { failureReason, isUnresolved, parseLockConflict, parseScriptErrors, scriptFailures } from "./output.ts";

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
