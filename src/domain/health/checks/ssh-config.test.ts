import { describe, expect, it } from "vitest";
import { createFakeSshServer } from "../../../../test/fakes/ssh-server.ts";
import { sshConfigCheck } from "./ssh-config.ts";

const { signal } = new AbortController();

/** What a Debian 12 says as it is installed, as far as it matters. */
const debian = {
  permitrootlogin: "without-password",
  passwordauthentication: "yes",
  kbdinteractiveauthentication: "no",
  usepam: "yes",
  permitemptypasswords: "no",
  strictmodes: "yes",
  permituserenvironment: "no",
  x11forwarding: "yes",
  authenticationmethods: "any",
  ciphers: "chacha20-poly1305@openssh.com,aes128-ctr,aes256-gcm@openssh.com",
  macs: "umac-128-etm@openssh.com,hmac-sha2-256,hmac-sha1",
  kexalgorithms: "curve25519-sha256,diffie-hellman-group-exchange-sha256,diffie-hellman-group14-sha256",
  hostkeyalgorithms: "ssh-ed25519,rsa-sha2-512",
  pubkeyacceptedalgorithms: "ssh-ed25519,rsa-sha2-512",
};
const keysOnly = { passwordauthentication: "no" };

const run = (options: Readonly<Record<string, string>>, ignore: readonly string[] = []) =>
  sshConfigCheck({ ssh: createFakeSshServer({ is: "valid", options: { ...debian, ...options }, matches: [] }) }).run(
    { ignore },
    signal,
  );
const found = async (options: Readonly<Record<string, string>>) => {
  const { details } = await run(options);
  return (details["findings"] as { option: string; status: string }[]).map(({ option, status }) => [option, status]);
};

describe("ssh_config", () => {
  it("warns of the defaults of Debian, and passes without passwords", async () => {
    expect(await run({})).toEqual({
      status: "warn",
      message:
        "sshd: a password is enough to log in, and passwords can be guessed. When all users have keys, set PasswordAuthentication no",
      details: {
        findings: [
          {
            option: "passwordauthentication",
            value: "yes",
            status: "warn",
            problem: "a password is enough to log in, and passwords can be guessed",
            advice: "When all users have keys, set PasswordAuthentication no",
          },
        ],
      },
    });
    const passed = {
      status: "pass",
      message: "sshd accepts only strong authentication",
      details: { findings: [] },
    };
    expect(await run(keysOnly)).toEqual(passed);
    expect(await run({}, ["PasswordAuthentication"])).toEqual(passed);
    expect(await run({}, ["password*"])).toEqual(passed);
  });

  it("fails for root with a password first", async () => {
    expect(await run({ permitrootlogin: "yes" })).toMatchObject({
      status: "fail",
      message: "sshd: root may log in with a password. Set PermitRootLogin prohibit-password (and 1 more finding)",
      details: { findings: [{ option: "permitrootlogin", status: "fail" }, { option: "passwordauthentication" }] },
    });
  });

  it.each([
    ["root with keys only", { permitrootlogin: "yes", ...keysOnly }, []],
    [
      "empty passwords",
      { permitemptypasswords: "yes" },
      [
        ["permitemptypasswords", "fail"],
        ["passwordauthentication", "warn"],
      ],
    ],
    ["empty passwords that nobody asks for", { permitemptypasswords: "yes", ...keysOnly }, []],
    ["PAM that asks", { ...keysOnly, kbdinteractiveauthentication: "yes" }, [["kbdinteractiveauthentication", "warn"]]],
    ["nobody who answers", { ...keysOnly, kbdinteractiveauthentication: "yes", usepam: "no" }, []],
    ["a key and a password", { permitrootlogin: "yes", authenticationmethods: "publickey,password" }, []],
    ["a key, or a password", { authenticationmethods: "publickey password" }, [["passwordauthentication", "warn"]]],
    [
      "a key and PAM",
      { ...keysOnly, kbdinteractiveauthentication: "yes", authenticationmethods: "publickey,keyboard-interactive:pam" },
      [],
    ],
    ["keys that others write", { ...keysOnly, strictmodes: "no" }, [["strictmodes", "warn"]]],
    ["variables of users", { ...keysOnly, permituserenvironment: "yes" }, [["permituserenvironment", "warn"]]],
    ["variables that are named", { ...keysOnly, permituserenvironment: "LANG" }, []],
    ["broken ciphers", { ...keysOnly, ciphers: "aes128-ctr,3des-cbc,aes256-cbc" }, [["ciphers", "warn"]]],
    ["broken codes", { ...keysOnly, macs: "hmac-md5-etm@openssh.com,hmac-sha2-256" }, [["macs", "warn"]]],
    ["a broken exchange", { ...keysOnly, kexalgorithms: "diffie-hellman-group1-sha1" }, [["kexalgorithms", "warn"]]],
    ["broken signatures of hosts", { ...keysOnly, hostkeyalgorithms: "ssh-rsa" }, [["hostkeyalgorithms", "warn"]]],
    ["of users", { ...keysOnly, pubkeyacceptedalgorithms: "ssh-dss,ssh-rsa" }, [["pubkeyacceptedalgorithms", "warn"]]],
  ])("finds %s", async (_, options, expected) => {
    expect(await found(options)).toEqual(expected);
  });

  it("fails when sshd would not start, and skips where it cannot be asked", async () => {
    const ssh = createFakeSshServer({ is: "refused", message: "line 3: Bad configuration option: Foo" });
    expect(await sshConfigCheck({ ssh }).run({ ignore: [] }, signal)).toEqual({
      status: "fail",
      message: "sshd would not start with its configuration: line 3: Bad configuration option: Foo",
      details: { error: "line 3: Bad configuration option: Foo" },
    });
    const none = sshConfigCheck({ ssh: createFakeSshServer() });
    expect(await none.run({ ignore: [] }, signal)).toMatchObject({ status: "skip" });
    const unknown = sshConfigCheck({ ssh: createFakeSshServer({ is: "unknown", reason: "only root may" }) });
    expect(await unknown.run({ ignore: [] }, signal)).toMatchObject({
      status: "skip",
      message: "The configuration of the SSH server cannot be read: only root may",
    });
  });

  it("knows what hundreds of Match blocks make of it", async () => {
    const matches = Array.from({ length: 400 }, (_, at) => ({
      match: `Match Address 10.0.${at}.0/24`,
      options: {
        authenticationmethods: `publickey,hostbased:${at}`,
        pubkeyacceptedalgorithms: `ssh-ed25519,other-${at}`,
      },
    }));
    const ssh = createFakeSshServer({ is: "valid", options: { ...debian, ...keysOnly }, matches });
    expect(await sshConfigCheck({ ssh }).run({ ignore: [] }, signal)).toMatchObject({ status: "pass" });
  });

  describe("with Match blocks", () => {
    const address = "Match Address 10.0.0.0/8";
    const judged = async (
      options: Readonly<Record<string, string>>,
      inBlock: Readonly<Record<string, string>>,
      { elsewhere = options, ignore = [] }: { elsewhere?: typeof options; ignore?: readonly string[] } = {},
    ) => {
      const valid = (given: typeof options) =>
        ({ is: "valid", options: { ...debian, ...given }, matches: [] }) as const;
      const matches = [{ match: address, options: inBlock }];
      const ssh = createFakeSshServer({ ...valid(options), matches }, valid(elsewhere));
      return sshConfigCheck({ ssh }).run({ ignore }, signal);
    };

    it("does not know what differs by connection, and passes where no connection has a finding", async () => {
      expect(await judged(keysOnly, { passwordauthentication: "yes" })).toEqual({
        status: "skip",
        message: `What sshd accepts differs by connection (${address}), so it is not known`,
        details: { findings: [], differs: [address] },
      });
      const passed = { status: "pass", details: { findings: [] } };
      expect(await judged(keysOnly, { permitrootlogin: "yes" })).toMatchObject(passed);
      expect(await judged(keysOnly, { passwordauthentication: "no", x11forwarding: "yes" })).toMatchObject(passed);
      expect(
        await judged(keysOnly, { passwordauthentication: "yes" }, { ignore: ["passwordauthentication"] }),
      ).toMatchObject(passed);
    });

    it("says what usual users meet as well, and not what a block keeps from them", async () => {
      expect(await judged({}, { passwordauthentication: "no" })).toMatchObject({
        status: "warn",
        message: expect.stringContaining(`set PasswordAuthentication no; it differs by connection (${address})`),
        details: { findings: [{ option: "passwordauthentication" }], differs: [address] },
      });
      expect(await judged({}, { passwordauthentication: "no" }, { elsewhere: keysOnly })).toMatchObject({
        status: "skip",
        details: { findings: [], differs: [address] },
      });
    });

    it.each([
      ["what two options make together", { permitrootlogin: "yes", passwordauthentication: "Yes" }, "skip"],
      ["weak algorithms that are added", { pubkeyacceptedalgorithms: "+ssh-rsa" }, "skip"],
      ["algorithms that are taken out", { pubkeyacceptedalgorithms: "-ssh-rsa" }, "pass"],
    ])("sees %s", async (_, inBlock, status) => {
      expect(await judged(keysOnly, inBlock)).toMatchObject({ status });
    });
  });
});
