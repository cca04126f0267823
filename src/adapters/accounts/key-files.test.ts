import { expect, it } from "vitest";
import type { SshMatch } from "#domain/ports/network.ts";
import { keyFilesOf } from "./key-files.ts";

const eve = { name: "eve", uid: 1000, gid: 1000, comment: "", home: "/srv/100%u", shell: "" };
const filesBy = (options: Readonly<Record<string, string>>, matches: readonly SshMatch[] = []) =>
  keyFilesOf(eve, { is: "valid", options, matches });

it("files of keys are those of AuthorizedKeysFile, with its tokens, below the home where they are relative", () => {
  expect(filesBy({ authorizedkeysfile: "/k/%u /k/%U/100%% %h/x .ssh/%u none" })).toEqual({
    files: ["/k/eve", "/k/1000/100%", "/srv/100%u/x", "/srv/100%u/.ssh/eve"],
    ...{ keysAre: "all", reasons: [] },
  });
  const usual = ["/srv/100%u/.ssh/authorized_keys", "/srv/100%u/.ssh/authorized_keys2"];
  expect(keyFilesOf(eve, undefined)).toEqual({ files: usual, keysAre: "all", reasons: [] });
});

it.each([
  [{ authorizedkeyscommand: "/usr/bin/sss_ssh_authorizedkeys %u" }, "sshd also asks /usr/bin/sss_ssh_authorizedkeys"],
  [{ trustedusercakeys: "/etc/ssh/ca.pub" }, "certificates"],
  [{ authorizedkeysfile: "/k/%u/*.pub" }, "/k/%u/*.pub are not read"],
])("keys of files are some of all with %j", (more, reason) => {
  const options = { authorizedkeysfile: "/k/%u", authorizedkeyscommand: "none", trustedusercakeys: "none", ...more };
  expect(filesBy(options)).toMatchObject({ keysAre: "some", reasons: [expect.stringContaining(reason)] });
  expect(filesBy({ ...options, pubkeyauthentication: "no" })).toEqual({ files: [], keysAre: "all", reasons: [] });
});

it("keys of files are assumed where a Match block has others for some connections", () => {
  const match = "Match Address 10.0.0.0/8";
  const differing = { keysAre: "assumed", reasons: [`sshd takes others from some connections (${match})`] };
  const by = (option: string, options = {}) =>
    filesBy({ authorizedkeysfile: "/k/%u", ...options }, [{ match, options: { [option]: "x" } }]);
  expect(by("authorizedkeysfile")).toEqual({ files: ["/k/eve"], ...differing });
  expect(by("pubkeyauthentication", { pubkeyauthentication: "no" })).toEqual({ files: [], ...differing });
  expect(by("authorizedkeyscommand", { trustedusercakeys: "/ca" })).toMatchObject({ keysAre: "assumed" });
  expect(by("x11forwarding")).toEqual({ files: ["/k/eve"], keysAre: "all", reasons: [] });
});
