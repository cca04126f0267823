import { expect, it } from "vitest";
import { distributionOf, isSuse, parseOsRelease } from "./etc.ts";

it("os-release: reads quotes, escapes and bare words", () => {
  const values = parseOsRelease(
    [
      'NAME="Fedora Linux"',
      "VERSION_ID=41",
      "PRETTY_NAME='It is \"41\"'",
      'HOME_URL="a \\"b\\" \\$c"',
      "# comment",
      "",
      "broken line",
    ].join("\n"),
  );
  expect(Object.fromEntries(values)).toEqual({
    NAME: "Fedora Linux",
    VERSION_ID: "41",
    PRETTY_NAME: 'It is "41"',
    HOME_URL: 'a "b" $c',
  });
});

it("os-release: the version is what there is of one", () => {
  const version = (text: string) => distributionOf(parseOsRelease(text));
  expect(version('NAME=Xen\nVERSION="7.6.0"\n')).toEqual({ name: "Xen", version: "7.6.0" });
  expect(version("VERSION_ID=TEMPLATE_VERSION_ID\nBUILD_ID=rolling\n")).toEqual({ name: "Linux", version: "rolling" });
  expect(version('NAME=""\nVERSION_ID=""\nVERSION=3\nBUILD_ID=2\n')).toEqual({ name: "Linux", version: "2" });
  expect(version("NAME=x\n")).toEqual({ name: "x", version: "rolling" });
});

it("os-release: the SUSE family is recognized by what a distribution is, or is like", () => {
  const like = (text: string) => isSuse(parseOsRelease(text));
  expect(["ID='sles'\n", "ID=opensuse\n", 'ID=x\nID_LIKE="opensuse suse"\n', "ID=suse-microos\n"].map(like)).toEqual(
    Array.from({ length: 4 }, () => true),
  );
  expect(["", "ID=debian\n", "ID=x\nNAME=suse\n", 'ID=x\nID_LIKE="unsuse fedora"\n'].some(like)).toBe(false);
});
