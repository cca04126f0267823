import { describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createSshServer } from "#adapters/sshd/index.ts";
import { directoryPerTest, writeFiles } from "./support/directories.ts";
import { printing } from "./support/programs.ts";

const { signal } = new AbortController();
const at = directoryPerTest();

/** sshd that answers each question, and what it was asked. */
function createServer(answer: (connection: string) => ReturnType<Exec>) {
  const asked: string[] = [];
  const exec: Exec = (argv) => {
    const connection = argv.slice(2).join(" ");
    asked.push(connection);
    return answer(connection);
  };
  const settings = [at("none"), at("sshd_config")];
  return { asked, server: createSshServer({ exec, path: process.execPath, settings, isRoot: true }) };
}
const port = (connection: string) => printing("port 22\n")(["sshd", connection]);
const wanting =
  (stderr: string, word: string) =>
  (connection: string): ReturnType<Exec> =>
    connection.includes(word) ? port(connection) : printing("", { exitCode: 255, stderr })(["sshd", connection]);

describe("Match blocks of sshd", () => {
  const matchesOf = async (settings: string, user?: { readonly name: string; readonly groups: readonly string[] }) => {
    writeFiles(at(), { sshd_config: settings });
    const config = await createServer(port).server.config(signal, user);
    if (config?.is !== "valid") throw new Error(JSON.stringify(config));
    return config.matches;
  };
  const eve = { name: "eve", groups: ["eve", "adm"] };

  it("are those that only some connections meet, as they are written, in whatever file", async () => {
    writeFiles(at(), {
      "conf.d/10.conf": "PasswordAuthentication no\nMatch Address 10.0.0.0/8\n  ChallengeResponseAuthentication yes\n",
      "conf.d/.hidden.conf": "Match User hidden\nPasswordAuthentication yes\n",
      "conf.d/20.txt": "Match User other\nPasswordAuthentication yes\n",
      "inner.conf": "PermitRootLogin yes\nMatch LocalPort 22\nPermitRootLogin no\n",
    });
    const settings = [
      `Include "${at("conf.d")}/*.conf" ${at("missing")}`,
      "Match all",
      "  X11Forwarding no",
      'match user=eve,"!mal" Host *.example # no word',
      '  AuthorizedKeysFile = "/k/%u" .ssh/x # more',
      "  AuthorizedKeysFile none",
      `Match RDomain vrf`,
      `  Include ${at("inner.conf")}`,
      "Match invalid-user",
      "  PasswordAuthentication yes",
      "Match Version OpenSSH_10*",
      "  PasswordAuthentication yes",
    ];
    expect(await matchesOf(settings.join("\n"))).toEqual([
      { match: "Match Address 10.0.0.0/8", options: { kbdinteractiveauthentication: "yes" } },
      { match: "Match user eve,!mal Host *.example", options: { authorizedkeysfile: "/k/%u .ssh/x" } },
      { match: "Match RDomain vrf", options: { permitrootlogin: "yes" } },
      { match: "Match RDomain vrf LocalPort 22", options: { permitrootlogin: "no" } },
    ]);
  });

  it.each([
    ["User eve", []],
    ["User eve Address 10.0.0.0/8", ["eve"]],
    ["User e*,!eve Address 10.0.0.0/8", []],
    ["User m?l Address 10.0.0.0/8", ["mal"]],
    ["Group adm LocalAddress 192.0.2.1", ["eve"]],
    ["Group *,!adm LocalAddress 192.0.2.1", ["mal"]],
    ["Host *.example", ["eve", "mal"]],
  ])("Match %s depends on where %j come from", async (criteria, expected) => {
    const users = [eve, { name: "mal", groups: ["mal"] }];
    const settings = `Match ${criteria}\nAuthorizedKeysFile none\n`;
    const found = await Promise.all(users.map(async (user) => (await matchesOf(settings, user)).map(() => user.name)));
    expect(found.flat()).toEqual(expected);
  });

  it.each([
    ["includes itself", (path: string) => `Include ${path}\n`, "more than 16 files deep"],
    ["includes a pattern that is not understood", () => "Include conf.d/[0-9]*\n", "conf.d/[0-9]*"],
  ])("are unknown where a file %s", async (_, settings, reason) => {
    writeFiles(at(), { sshd_config: settings(at("sshd_config")) });
    expect(await createServer(port).server.config(signal)).toEqual({
      is: "unknown",
      reason: expect.stringContaining(reason),
    });
  });
});

describe("sshd is asked", () => {
  it("for what holds without any block, at a port that none of them names", async () => {
    writeFiles(at(), { sshd_config: "Match LocalPort 22\nMatch LocalPort 65535\nPasswordAuthentication no\n" });
    const { asked, server } = createServer(port);
    expect(await server.config(signal)).toMatchObject({ is: "valid", matches: [{ match: "Match LocalPort 65535" }] });
    await server.config(signal, { name: "eve", groups: [] });
    await server.fromElsewhere(signal, "2222");
    expect(asked).toEqual([
      "-C lport=65534",
      "-C user=eve,lport=65534",
      "-C user=nobody,host=client.invalid,addr=192.0.2.1,laddr=192.0.2.2,lport=2222",
    ]);
  });

  const all = "user, host and addr are all required when testing Match configs\n";
  it("with a whole connection where it wants one, unless blocks depend on it", async () => {
    writeFiles(at(), { sshd_config: "Match User eve\nAuthorizedKeysFile none\n" });
    const eve = { name: "eve", groups: [] };
    const { asked, server } = createServer(wanting(all, "addr="));
    expect(await server.config(signal, eve)).toEqual({ is: "valid", options: { port: "22" }, matches: [] });
    expect(asked.at(-1)).toBe("-C user=eve,host=client.invalid,addr=192.0.2.1,laddr=192.0.2.2,lport=22");
    writeFiles(at(), { sshd_config: "Match Address 10.0.0.0/8\nAuthorizedKeysFile none\n" });
    expect(await server.config(signal, eve)).toMatchObject({
      is: "unknown",
      reason: expect.stringContaining("its configuration depends on the connection"),
    });
  });

  it("and its configuration is unknown, not refused, where even a whole connection does not say it", async () => {
    const missing = "'Match RDomain' in configuration but 'rdomain' not in connection test specification.\n";
    const { server } = createServer(wanting(missing, "rdomain="));
    expect(await server.config(signal)).toMatchObject({
      is: "unknown",
      reason: expect.stringContaining("its configuration depends on the connection: 'Match RDomain'"),
    });
  });
});
