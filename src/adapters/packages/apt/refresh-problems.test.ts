import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refreshFailure } from "./refresh-problems.ts";

const ignored = "E: Some index files failed to download. They have been ignored, or old ones used instead.\n";

describe("lists that could not be brought up to date", () => {
  it.each([
    [
      "changed on the way",
      `W: An error occurred during the signature verification. The repository is not updated and the previous index files will be used. GPG error: http://one.example ./ InRelease: The following signatures were invalid: BADSIG D9230E6E0D3054DB good <good@example.org>\nE: Failed to fetch http://one.example/./InRelease  The following signatures were invalid: BADSIG D9230E6E0D3054DB good <good@example.org>\n${ignored}`,
      /^http:\/\/one\.example \.\/ InRelease: .* BADSIG D92\S* .*\(the data of the source does not match its signature/,
    ],
    [
      "signed by another key",
      `W: GPG error: http://one.example ./ Release: The following signatures couldn't be verified because the public key is not available: NO_PUBKEY 245C63102E9E1BEF\nE: The repository 'http://one.example ./ Release' is no longer signed.\n`,
      /^http:\/\/one\.example \.\/ Release: .* NO_PUBKEY 245C63102E9E1BEF \(this host does not trust the key/,
    ],
    [
      "signed by a key that has expired",
      `W: GPG error: http://one.example stable InRelease: The following signatures were invalid: EXPKEYSIG 36FD old <old@example.org>\nE: Failed to fetch http://one.example/dists/stable/InRelease  EXPKEYSIG\n`,
      /^http:\/\/one\.example stable InRelease: .*\(the key that signs the source has expired/,
    ],
    [
      "signed by another key, as newer programs say",
      `W: OpenPGP signature verification failed: http://one.example ./ Release: Sub-process /usr/bin/sqv returned an error code (1), error message is: Missing key 557949F6118FB79EF9B0201C7834555D127A097A, which is needed to verify signature.\nE: The repository 'http://one.example ./ Release' is no longer signed.\n`,
      /Missing key 5579.*\(this host does not trust the key/,
    ],
    [
      "wrong in another way",
      "W: OpenPGP signature verification failed: http://one.example ./ Release: no\nE: The repository 'http://one.example ./ Release' is no longer signed.\n",
      /^http:\/\/one\.example \.\/ Release: no \(its signature is not valid/,
    ],
    [
      "not signed",
      "E: The repository 'http://one.example ./ Release' is no longer signed.\n",
      /^The repository 'http:\/\/one\.example \.\/ Release' is no longer signed \(its data cannot be verified/,
    ],
    [
      "too old",
      "E: Release file for http://one.example/./InRelease is expired (invalid since 2s). Updates for this repository will not be applied.\n",
      /^Release file for http:\/\/one\.example\/\.\/InRelease is expired .*\(the lists of the source have expired/,
    ],
    [
      "of a time to come",
      "E: Release file for http://one.example/./InRelease is not valid yet (invalid for another 404d). Updates for this repository will not be applied.\n",
      /\(the lists are dated in the future: check the clock of this host/,
    ],
    [
      "not what the signature names",
      `E: Failed to fetch http://one.example/./Packages  Hash Sum mismatch\n   Hashes of expected file:\n${ignored}`,
      /^Failed to fetch http:\/\/one\.example\/\.\/Packages {2}Hash Sum mismatch \(the source is being updated/,
    ],
    [
      "of a server that does not answer",
      `E: Failed to fetch http://one.example/./InRelease  Could not connect\n${ignored}`,
      /^Failed to fetch http:\/\/one\.example\/\.\/InRelease {2}Could not connect;/,
    ],
  ])("since they are %s name the source and what to do", (_name, text, expected) => {
    const reason = refreshFailure(text, 100);
    expect(reason).toMatch(expected);
    expect(reason).toMatch(/; the old package lists stay in use$/);
    expect(reason).not.toContain("Some index files");
    // One source is one problem.
    expect(reason.match(/one\.example/g)).toHaveLength(1);
  });

  it("report each source, and of the first few only", () => {
    const error = (name: string): string => `E: The repository 'http://${name}.example ./ Release' is not signed.\n`;
    expect(refreshFailure(["a", "b", "c", "d", "e"].map(error).join(""), 100)).toMatch(
      /http:\/\/a\.example.*http:\/\/b\.example.*http:\/\/c\.example.*; and 2 more; the old package lists/,
    );
  });

  it("have a reason whatever apt printed", () => {
    expect(refreshFailure("E: Could not open lock file\n", 100)).toContain("Could not open lock file");
    expect(refreshFailure("", 100)).toBe("exit code 100");
    fc.assert(fc.property(fc.string(), (text) => refreshFailure(text, 1) !== ""));
  });
});
