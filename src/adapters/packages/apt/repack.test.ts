import { describe, expect, it } from "vitest";
import { configurationFilesOf, controlOf, parseDiversions } from "./repack.ts";

const md5 = "0123456789abcdef0123456789abcdef";
const stanza = `Package: app
Status: install ok installed
Depends: libc6 (>= 2.36),
 libfoo
Architecture: amd64
Version: 1:1.0-1
Conffiles:
 /etc/app/one.conf ${md5}
 /etc/app/two files.conf ${md5}
 /etc/app/old.conf ${md5} obsolete
 /etc/app/going.conf ${md5} remove-on-upgrade
Description: an app
 that says more
 .
 Status: not a field
Triggers-Pending: ldconfig
`;

describe("a package put together from what is installed", () => {
  it("has its original control fields, without those that dpkg added", () => {
    expect(controlOf(stanza)).toBe(`Package: app
Depends: libc6 (>= 2.36),
 libfoo
Architecture: amd64
Version: 1:1.0-1
Description: an app
 that says more
 .
 Status: not a field
`);
  });

  it("asks for nothing when it is only configuration", () => {
    expect(controlOf(stanza, { isBare: true })).not.toContain("libfoo");
  });

  it("has the configuration files of its version and no older ones", () => {
    expect(configurationFilesOf(stanza)).toEqual([
      { path: "/etc/app/one.conf", md5 },
      { path: "/etc/app/two files.conf", md5 },
    ]);
    expect(configurationFilesOf("Package: app\nVersion: 1\n")).toEqual([]);
  });

  it("finds files where another package's diversion has put them", () => {
    const text = "/bin/a\n/bin/a.real\nother\n/bin/b\n/bin/b.real\napp\n/bin/c\n/bin/c.distrib\n:\n";
    expect([...parseDiversions(text, "app")]).toEqual([
      ["/bin/a", "/bin/a.real"],
      ["/bin/c", "/bin/c.distrib"],
    ]);
  });
});
