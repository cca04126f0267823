import { expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { describeOnHost } from "./support/session.ts";

const near = "10.99.0.1";
const far = "10.99.0.2";
const port = 7777;
const dropIn = "/etc/systemd/system/steward.service.d/egress.conf";
const node = "/opt/steward/node_modules/.bin/node";

describeOnHost("steward config egress", { privateNetwork: true }, (session) => {
  const steward = (words: string): Promise<string> => session.shell(`${installedPrograms.join(" ")} ${words}`);
  const ask = async (path: string): Promise<Record<string, unknown>> =>
    JSON.parse(
      await session.shell(`curl -s -H 'X-API-Key: ${session.service.adminKey}' '${session.service.url}/api/v1${path}'`),
    ) as Record<string, unknown>;
  const probe = (name: string, host: string): string => `{ name: ${name}, tcp: "${host}:${port}" }`;
  const configure = (...probes: readonly string[]): Promise<void> =>
    session.host.writeFile("/etc/steward/config.yaml", `probes: { list: [${probes.join(", ")}] }\n`);
  const components = async (): Promise<unknown> => (await ask("/health"))["components"];

  it("limits the service to what its settings need", async () => {
    await session.shell(`ip link set lo up; ip address add ${near}/32 dev lo; ip address add ${far}/32 dev lo`);
    await session.shell(
      `systemd-run --quiet --unit=listener ${node} -e 'require("net").createServer((s) => s.on("error", () => 0).end("hi")).listen(${port}, "0.0.0.0")'`,
    );
    await session.shell(`printf 'nameserver ${near}\\nnameserver 127.0.0.1\\n' > /etc/resolv.conf`);
    await configure(probe("near", near));
    await steward(`config egress > ${dropIn}`);
    await session.shell("systemctl daemon-reload");
    const networks = async (property: string): Promise<readonly string[]> =>
      (await session.shell(`systemctl show steward.service -P ${property}`)).trim().split(" ").toSorted();
    expect(await networks("IPAddressDeny")).toEqual(["0.0.0.0/0", "::/0"]);
    expect(await networks("IPAddressAllow")).toEqual([`${near}/32`, "127.0.0.0/8", "::1/128"].toSorted());

    // Whether the kernel of this machine lets a container do it.
    const isLimited = !(
      await session.shell(
        `systemd-run --quiet --wait --pipe -p IPAddressDeny=any curl -s -m 3 telnet://${near}:${port} < /dev/null || true`,
      )
    ).includes("hi");
    if (!isLimited) process.stdout.write("not tried: the kernel does not limit addresses in this container\n");

    await session.service.restart();
    expect(await components()).toMatchObject({ cli: true, ops: true, near: true });
    // Not in the settings when the drop-in was written.
    await configure(probe("near", near), probe("far", far));
    await session.service.restart();
    expect(await components()).toMatchObject({ cli: true, ops: true, near: true, far: !isLimited });
    await steward(`config egress > ${dropIn}`);
    await session.shell("systemctl daemon-reload");
    await session.service.restart();
    expect(await components()).toMatchObject({ near: true, far: true });
  });

  it("says what it cannot permit, and refuses what would lock clients out", async () => {
    await configure(`{ name: gone, tcp: "gone.example.invalid:1" }`);
    const { exitCode, stdout, stderr } = await session.host.exec([...installedPrograms, "config", "egress"], {
      allowFailure: true,
    });
    expect([exitCode, stderr]).toEqual([
      1,
      "cannot permit probe gone: gone.example.invalid could not be resolved (give its addresses with --allow)\n",
    ]);
    expect(stdout).toContain("\n# probe gone: gone.example.invalid could not be resolved\n");
    await session.host.writeFile("/etc/steward/config.yaml", "listen: 0.0.0.0:8470\ntls: auto\n");
    const open = await session.host.exec([...installedPrograms, "config", "egress"], { allowFailure: true });
    expect([open.exitCode, open.stderr]).toEqual([2, expect.stringContaining("--clients 10.0.0.0/8")]);
    expect(await steward("config egress --clients 10.0.0.0/8 2001:db8::/32")).toContain(
      "IPAddressAllow=10.0.0.0/8 2001:db8::/32",
    );
  });
});
