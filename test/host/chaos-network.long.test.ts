import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { streamLogs } from "#client/stream.ts";
import { runCommand } from "./commands.ts";
import { eventually } from "./support/eventually.ts";
import { faultOfLines } from "./support/line-writers.ts";
import { describeOnHost } from "./support/session.ts";

const link = `stw${process.pid}`;
const [outside, inside, port] = ["10.213.77.1", "10.213.77.2", 8470];
const writer = "steady.service";

const hasLinks = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].some((path) => existsSync(path));
if (!hasLinks && process.env["CI"] === "true")
  throw new Error("cannot make a link, and in CI nothing is skipped: apt-get install iproute2");
if (!hasLinks) process.stdout.write("skipped: a network that goes away (apt-get install iproute2)\n");

describe.skipIf(!hasLinks)("a link that can be cut", () => {
  describeOnHost("a network that goes away", { privateNetwork: true }, (session) => {
    const url = `http://${inside}:${port}`;
    const ip = (...words: readonly string[]) => runCommand(["ip", ...words]);
    let key: string;

    beforeAll(async () => {
      const words = await session.host.enter([]);
      const leader = words[words.indexOf("-t") + 1] ?? "";
      const inGuest = (...more: readonly string[]) => runCommand(["nsenter", "-t", leader, "-n", "ip", ...more]);
      await ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", leader);
      await ip("address", "add", `${outside}/30`, "dev", link);
      await ip("link", "set", link, "up");
      await inGuest("address", "add", `${inside}/30`, "dev", "eth0");
      await inGuest("link", "set", "eth0", "up");
      const listen = `Environment=STEWARD_LISTEN=0.0.0.0:${port}`;
      await session.host.writeFile("/etc/systemd/system/steward.service.d/90-network.conf", `[Service]\n${listen}\n`);
      await session.host.writeFile("/etc/steward/config.yaml", "tls: off\n");
      await session.writeUnits({
        [writer]: [
          "[Service]",
          `ExecStart=/usr/bin/python3 -u -c "import itertools, time; [(print('${writer}', n), time.sleep(0.02)) for n in itertools.count()]"`,
          "LogRateLimitIntervalSec=0",
        ],
      });
      await session.service.restart();
      key = session.service.adminKey;
    });
    afterAll(async () => {
      // It goes with the guest's end of it, unless that is gone already.
      await runCommand(["ip", "link", "delete", link], { allowFailure: true });
    });

    it("costs no acknowledged change, no line of a stream, and not the service", async () => {
      const api = createClient({ url, key });
      const made: string[] = [];
      const create = async (): Promise<void> => {
        made.push((await api.createKey({ body: { name: `key ${made.length}`, scopes: ["system:read"] } })).id);
      };
      const messages: string[] = [];
      const lastWritten = async (): Promise<number> =>
        Number((await session.shell(`journalctl -q -o cat -n 1 -u ${writer}`)).trim().split(" ")[1]);
      const over = new AbortController();
      const reading = (async () => {
        for await (const { message } of streamLogs({ url, key, unit: writer, signal: over.signal })) {
          if (message.startsWith(writer)) messages.push(message);
        }
      })();
      reading.catch(() => undefined);
      const pid = await session.service.pid();
      await session.host.exec(["systemctl", "start", writer]);
      await eventually(() => expect(messages.length).toBeGreaterThan(20), 30_000);
      for (let round = 0; round < 2; round += 1) {
        await create();
        await ip("link", "set", link, "down");
        const cutAt = await lastWritten();
        // Asked without a network, and answered whenever there is one again, or not at all.
        const unsure = create().catch(() => undefined);
        await eventually(async () => expect(await lastWritten()).toBeGreaterThan(cutAt + 100));
        expect(Number(messages.at(-1)?.split(" ")[1])).toBeLessThan(cutAt + 100);
        // Who is inside has it all the while.
        expect(await session.shell(`curl -fsS http://127.0.0.1:${port}/readyz`)).toContain("ok");
        await ip("link", "set", link, "up");
        const upAt = await lastWritten();
        await eventually(() => expect(Number(messages.at(-1)?.split(" ")[1])).toBeGreaterThan(upAt));
        await unsure;
        await create();
      }
      over.abort();
      await reading;
      const numbers = messages.map((message) => Number(message.split(" ")[1]));
      const first = numbers[0] ?? Number.NaN;
      const fault = faultOfLines(messages, { unit: writer, first, count: (numbers.at(-1) ?? Number.NaN) + 1 });
      expect(fault).toBeUndefined();
      const ids = (await api.listKeys()).keys.map(({ id }) => id);
      expect(made.filter((id) => !ids.includes(id))).toEqual([]);
      expect(await session.service.pid()).toBe(pid);
      expect((await session.service.logs()).split("\n").filter((line) => line.includes('"level":"error"'))).toEqual([]);
    });
  });
});
