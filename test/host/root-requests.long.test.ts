import { beforeAll, describe, expect, it } from "vitest";
import { createIntruder } from "./support/intruder.ts";
import { describeOnHost } from "./support/session.ts";
import { createSmallDisk } from "./support/small-disk.ts";

/** As many processes as systemd starts for the connections of the service (`MaxConnections=`). */
const mostProcesses = 26;
const check = { params: { check_id: "slow" } };

/** How the service requests what needs root: a connection, and a process of root, for each request. */
describeOnHost("requests to the privileged side", (session) => {
  const { shell } = session;
  const property = async (name: string): Promise<number> =>
    Number(await shell(`systemctl show -P ${name} steward-task.socket`));
  /** Waits until no process of root's side is left. */
  const quiet = () =>
    shell('until [ "$(systemctl show -P NConnections steward-task.socket)" = 0 ]; do sleep 0.1; done');
  const count = async <T>(work: () => Promise<T>) => {
    await quiet();
    const before = await property("NAccepted");
    const result = await work();
    return { result, processes: (await property("NAccepted")) - before };
  };
  const slow = () => shell("pgrep -fx '/bin/sleep 7654' || true");
  const started = () => shell("until pgrep -fx '/bin/sleep 7654' >/dev/null; do sleep 0.1; done");

  beforeAll(async () => {
    // Checks run once at the start, and then when they are requested.
    await session.host.writeFile(
      "/etc/steward/config.yaml",
      "health: { interval: 24h, checks: { slow: { command: [/bin/sleep, '7654'], user: root, timeout: 1h } } }\n",
    );
    await session.service.restart();
    await started();
  });

  it("end with all that they started when the service ends", async () => {
    const [before, pid] = [await property("NAccepted"), await session.service.pid()];
    await shell(`kill -KILL ${pid}`);
    await quiet();
    expect([await slow(), await property("NAccepted")]).toEqual(["", before]);
    await session.service.restart();
    await started();
  });

  it("report that the process of root died", async () => {
    await shell("systemctl kill --signal=KILL 'steward-task@*'");
    const found = async () => (await session.api.getCheckHistory({ ...check, query: { limit: 1 } })).runs[0];
    await expect.poll(found).toMatchObject({ message: expect.stringContaining("its process ended without an answer") });
    await shell("pkill -fx '/bin/sleep 7654' || true");
    await quiet();
  });

  it("continue when no further ones are accepted, as when the service stops", async () => {
    const { request } = createIntruder(session);
    const answer = request("monitoring.run", { check_id: "slow" });
    await started();
    await shell("systemctl stop steward-task.socket; pgrep -fx '/bin/sleep 7654'; pkill -fx '/bin/sleep 7654'");
    expect(await answer).toHaveProperty("output.outcome");
    await shell("systemctl start steward-task.socket");
    await quiet();
  });

  it("are limited at a time, no matter who sends them, and possible again after that", async () => {
    const { hostile, request } = createIntruder(session);
    // Those beyond the limit are closed as soon as systemd has come to them.
    const connect = `const { connect } = require("node:net"); let [made, open] = [0, 0]; for (let at = 0; at < 40; at += 1) connect("/run/steward-tasks/requests.sock").on("connect", () => { made += 1; open += 1; }).on("error", () => undefined).on("close", () => (open -= 1)); const end = () => { console.log(open); process.exit(); }; const look = setInterval(() => { if (made < 40 || open > ${mostProcesses}) return; clearInterval(look); end(); }, 50); setTimeout(end, 50000);`;
    const { stdout } = await hostile(`/opt/steward/node_modules/.bin/node -e '${connect}'`);
    expect(Number(stdout)).toBe(mostProcesses);
    await quiet();
    expect(await request("packages.restart_needs", {})).toHaveProperty("output");
  });

  it("are possible again after very many connections at once, no matter who makes them", async () => {
    const { hostile, request } = createIntruder(session);
    // Systemd fails a socket at 200 within two seconds (`TriggerLimitBurst=`) unless set otherwise.
    const connect = `const { connect } = require("node:net"); let made = 0; const next = () => made++ < 600 ? connect("/run/steward-tasks/requests.sock", function () { this.destroy(); setImmediate(next); }).on("error", (error) => { console.log(error.code); setImmediate(next); }) : console.log("over"); for (let at = 0; at < 20; at += 1) next();`;
    expect((await hostile(`/opt/steward/node_modules/.bin/node -e '${connect}'`)).stdout).toContain("over");
    expect(await shell("systemctl show -P ActiveState steward-task.socket")).toBe("active\n");
    await expect.poll(() => request("packages.restart_needs", {})).toHaveProperty("output");
  });

  describe("of a fix", () => {
    beforeAll(async () => {
      await session.writeUnits({ "breaks.service": ["[Service]", "ExecStart=/bin/false"] });
      await shell("systemctl start breaks.service; until systemctl -q is-failed breaks.service; do sleep 0.1; done");
      await session.writeUnits({ "breaks.service": ["[Service]", "ExecStart=/bin/sleep infinity"] });
    });

    it("start one process of root, which checks, plans, fixes and checks again", async () => {
      const params = { check_id: "systemd_failed" };
      expect(await count(() => session.api.fixCheck({ params, query: { dry_run: true } }))).toMatchObject({
        result: { steps: ["restart breaks.service"], units: ["breaks.service"] },
        processes: 1,
      });
      expect(await count(() => session.api.fixCheck({ params }))).toMatchObject({
        result: { success: true, steps: [{ status: "done" }], check: { status: "pass" } },
        processes: 1,
      });
      const lines = await shell("journalctl --sync; journalctl -q -o cat -u 'steward-task@*' _UID=0");
      expect(lines.match(/"request":"fix","phase":"\w+"/g)).toEqual([
        '"request":"fix","phase":"begun"',
        '"request":"fix","phase":"done"',
      ]);
    });
  });

  it("are made about file systems only where the sandbox or a closed directory hides one", async () => {
    const check = () =>
      count(async () => {
        const params = ["disk_space", "inode_usage", "read_only_filesystems"].map((id) => ({ check_id: id }));
        const results = await Promise.all(params.map((each) => session.api.getCheck({ params: each })));
        return results.map(({ details }) => JSON.stringify(details));
      });
    const { result, processes } = await check();
    // Shared memory among them, of which the service has its own.
    expect([result[0]?.includes('"/dev/shm"'), processes]).toEqual([true, 0]);
    const disk = await createSmallDisk(session, 16);
    await shell("mkdir -p -m 700 /root/closed");
    for (const path of ["/tmp", "/root/closed"]) {
      await disk.mount(path);
      const hidden = await check();
      expect([hidden.result.map((details) => details.includes(`"${path}"`)), hidden.processes > 0]).toEqual([
        [true, true, true],
        true,
      ]);
      const { file_systems: all } = await session.api.listDisks();
      const found = all.find(({ type, mounts }) => type === "ext4" && mounts.some((mount) => mount.path === path));
      expect([found?.usage, found?.usage_unknown]).toEqual([null, expect.stringMatching(/sandbox|closed/)]);
      await disk.unmount();
    }
    expect((await check()).processes).toBe(0);
    disk.dispose();
  });
});
