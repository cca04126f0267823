import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSshdOptions, parseSshdRefusal } from "./index.ts";

describe("sshd -T", () => {
  it("has options by lower case names, joined when repeated", () => {
    const text = "port 22\nsubsystem sftp /usr/lib/openssh/sftp-server\nacceptenv LANG\nacceptenv LC_*\nforcecommand\n";
    expect(parseSshdOptions(text)).toEqual({
      port: "22",
      subsystem: "sftp /usr/lib/openssh/sftp-server",
      acceptenv: "LANG\nLC_*",
      forcecommand: "",
    });
    expect(parseSshdOptions("UsePAM yes\nPasswordAuthentication yes\nAcceptEnv LANG\nacceptenv LC_*\n")).toEqual({
      usepam: "yes",
      passwordauthentication: "yes",
      acceptenv: "LANG\nLC_*",
    });
  });

  it("has all options, whatever their names", () => {
    const options = fc.dictionary(fc.stringMatching(/^[a-z0-9]{1,12}$/), fc.stringMatching(/^[!-~]([ -~]*[!-~])?$/));
    fc.assert(
      fc.property(options, (given) => {
        const text = Object.entries(given).map(([name, value]) => `${name} ${value}`);
        expect(parseSshdOptions(text.join("\n"))).toEqual({ ...given });
      }),
    );
  });

  it.each(["", "Connection: closed\n", "\u0000\n"])("has no options in %j", (text) => {
    expect(parseSshdOptions(text)).toEqual({});
  });
});

it("a refusal of sshd is its first line", () => {
  expect(parseSshdRefusal("\n/etc/ssh/sshd_config: line 1: Bad\nterminating\n")).toBe(
    "/etc/ssh/sshd_config: line 1: Bad",
  );
  expect(parseSshdRefusal("")).toBe("it gives no reason");
});
