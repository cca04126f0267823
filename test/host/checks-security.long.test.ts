import { expect } from "vitest";
import { checkCommand, parseOutcome } from "./support/check.ts";
import { provoke } from "./support/provoke.ts";
import { describeOnHost } from "./support/session.ts";

/** Waits at 4242 on all addresses, and asks nobody from a port that the kernel chooses. */
const server = `
import socket, time
kinds = [(socket.SOCK_STREAM, 4242), (socket.SOCK_DGRAM, 4243), (socket.SOCK_DGRAM, 0)]
sockets = [socket.socket(socket.AF_INET, kind) for kind, _ in kinds]
for each, (_, port) in zip(sockets, kinds):
    each.bind(("0.0.0.0", port))
sockets[0].listen()
inside = socket.socket()
inside.bind(("127.0.0.1", 4244))
inside.listen()
open("/run/test-server", "w").close()
time.sleep(3600)
`;

describeOnHost("checks of what others reach", { checks: ["ssh_config"] }, (session) => {
  const check = (id: string) => session.api.getCheck({ params: { check_id: id } });

  provoke("ssh_config", "sshd as Debian installs it, with keys only, with root's password, and broken", async (see) => {
    // Debian 13 makes it at the boot.
    await session.host.exec(["rm", "-rf", "/run/sshd"]);
    expect(see(await check("ssh_config"))).toMatchObject({
      status: "skip",
      message: expect.stringContaining("has not been started"),
    });
    // The service would make it; it may not listen in the network of the machine.
    await session.host.exec(["mkdir", "/run/sshd"]);
    expect(see(await check("ssh_config"))).toMatchObject({
      status: "warn",
      details: { findings: [{ option: "passwordauthentication", value: "yes" }] },
    });
    const set = (...lines: readonly string[]) =>
      session.host.writeFile("/etc/ssh/sshd_config.d/test.conf", `${lines.join("\n")}\n`);
    await set("PasswordAuthentication no", "PermitRootLogin yes");
    expect(see(await check("ssh_config"))).toMatchObject({ status: "pass", details: { findings: [] } });
    await set("PermitRootLogin yes", "Ciphers +aes256-cbc");
    expect(see(await check("ssh_config"))).toMatchObject({
      status: "fail",
      message: "sshd: root may log in with a password. Set PermitRootLogin prohibit-password (and 2 more findings)",
      details: {
        findings: [{ option: "permitrootlogin" }, { option: "passwordauthentication" }, { value: "aes256-cbc" }],
      },
    });
    // A block for all counts, one for somebody does not.
    await set("PasswordAuthentication no", "Match user nobody", "  PasswordAuthentication yes");
    expect(see(await check("ssh_config"))).toMatchObject({ status: "pass" });
    await set("Match all", "  PermitEmptyPasswords yes");
    expect(see(await check("ssh_config"))).toMatchObject({
      status: "fail",
      details: { findings: [{ option: "permitemptypasswords" }, {}] },
    });
    await set("NoSuchOption yes");
    expect(see(await check("ssh_config"))).toMatchObject({
      status: "fail",
      details: { error: "/etc/ssh/sshd_config.d/test.conf: line 1: Bad configuration option: NoSuchOption" },
    });
    await session.shell("rm /etc/ssh/sshd_config.d/test.conf; mkdir /root/keys; mv /etc/ssh/ssh_host_* /root/keys");
    expect(see(await check("ssh_config"))).toMatchObject({
      status: "fail",
      details: { error: "sshd: no hostkeys available -- exiting." },
    });
    await session.shell("mv /root/keys/* /etc/ssh");
    expect(see(await check("ssh_config"))).toMatchObject({ status: "warn" });
  });

  /** Runs the lines of shell in a network of its own in which a server waits, then looks. */
  const lookAfter = async (...lines: readonly string[]) => {
    await session.host.writeFile("/usr/local/lib/test-server.py", server);
    const script = [
      "rm -f /run/test-server; python3 /usr/local/lib/test-server.py & server=$!",
      "trap 'kill $server' EXIT",
      "until test -e /run/test-server; do sleep 0.05; done",
      ...lines,
      '"$@"',
    ].join("\n");
    const look = checkCommand("firewall");
    const { stdout } = await session.host.exec(["unshare", "--net", "sh", "-ec", script, "look", ...look]);
    return parseOutcome(stdout);
  };
  const table = "nft add table inet guard";
  const chain = (policy: string) =>
    `nft add chain inet guard input '{ type filter hook input priority 0 ; policy ${policy} ; }'`;
  const open = {
    status: "warn",
    message: "4242/tcp (python3), 4243/udp (python3) are open to the network, and no rule filters what comes in",
  };

  provoke("firewall", "a server on all addresses without rules, with rules of every kind, and none", async (see) => {
    expect(see(await lookAfter())).toMatchObject({ ...open, details: { open_count: 2, chains: [] } });
    expect(see(await lookAfter(table, chain("drop")))).toMatchObject({
      status: "pass",
      message: "What comes in is filtered: chain input of table guard drops what no rule lets in",
      details: { open_ports: [{ port: 4242, filtered: true }, { port: 4243 }] },
    });
    // Switched off: its chains are listed and see no packet.
    expect(see(await lookAfter(`${table} '{ flags dormant ; }'`, chain("drop")))).toMatchObject(open);
    const rule = (words: string) => `nft add rule inet guard input ${words}`;
    const led = [
      "nft add chain inet guard wan",
      rule("meta l4proto tcp jump wan"),
      "nft add rule inet guard wan reject",
    ];
    expect(see(await lookAfter(table, chain("accept"), ...led))).toMatchObject({
      status: "pass",
      message: "What comes in is filtered: chain input of table guard refuses some of it",
    });
    // As fail2ban does.
    const banned = "nft add set inet guard banned '{ type ipv4_addr ; elements = { 192.0.2.1, 192.0.2.2 } ; }'";
    const few = [
      banned,
      rule("ip saddr @banned drop"),
      rule("ct state vmap '{ invalid : drop, established : accept }'"),
    ];
    expect(see(await lookAfter(table, chain("accept"), ...few))).toMatchObject(open);
    expect(see(await lookAfter("kill $server", "wait $server || true", "trap - EXIT"))).toMatchObject({
      status: "pass",
      message: "Nothing listens beyond loopback",
    });
  });

  provoke("firewall", "rules that the service may not read", async (see) => {
    const asNobody = 'set -- setpriv --reuid=nobody --clear-groups "$@"';
    expect(see(await lookAfter(asNobody))).toMatchObject({
      status: "skip",
      message: expect.stringMatching(/cannot be told: \/usr\/sbin\/nft: .*Operation not permitted/),
    });
  });
});
