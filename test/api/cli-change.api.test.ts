import { createServer, type Server } from "node:http";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { createFakeChatProvider, type FakeChatProvider } from "../fakes/chat-provider.ts";
import { refusal } from "./cli-run.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
let model: FakeChatProvider;
const { steward, url } = useSteward(async () => {
  model = createFakeChatProvider({ pieces: ["Hello ", "to \u001b[31myou"] });
  const definition = {
    name: "local",
    provider: "Fake",
    model: "fake-1",
    access: { provider: model },
    timeoutMs: 120_000,
  };
  const plan = { default: "local", connectors: [definition], budgetOf: () => undefined };
  service = await startTestService({ loadConnectors: () => Promise.resolve({ plan, discovery: undefined }) });
  return service;
});

const offer = (): void => {
  service.packageManager.repository.set("editor", { version: "1.1", isSecurity: false });
  service.packageManager.repository.set("library", { version: "2.1", isSecurity: true });
};
const versionOf = (name: string) => service.packageManager.packages.get(name)?.version;
const idOf = (text: string): string => /operation-\d+/.exec(text)?.[0] ?? "";

describe("steward updates", () => {
  it("carries out the plan that it showed, and asks again where the plan has changed", async () => {
    offer();
    let isShown = false;
    const change = (text: string): void => {
      if (isShown || !text.includes("update editor from 1.0 to 1.1")) return;
      isShown = true;
      service.packageManager.repository.set("editor", { version: "1.2", isSecurity: false });
    };
    const setting = { columns: 80, onText: change };
    const refused = await steward("updates apply", { ...setting, answers: ["y", "n"] });
    expect(refused.err).toMatch(/something has changed since the plan was made; now it would:\nUpdate 2 packages\?/);
    expect(refused.out).toMatch(/update editor from 1.0 to 1.1\n(?:.|\n)*update editor from 1.0 to 1.2\n/);
    expect(refused.out).toMatch(
      / {2}changed: also update editor from 1.0 to 1.2\n {2}changed: not update editor from 1.0 to 1.1\n$/,
    );
    expect([refused.code, versionOf("editor"), versionOf("library")]).toEqual([1, "1.0", "2.0"]);
    isShown = false;
    service.packageManager.repository.set("editor", { version: "1.1", isSecurity: false });
    const agreed = await steward("updates apply", { ...setting, answers: ["y", "y"] });
    expect([agreed.code, versionOf("editor"), versionOf("library")]).toEqual([0, "1.2", "2.1"]);
  });

  it("lists available updates, security updates in colour", async () => {
    offer();
    const { code, out } = await steward("updates", { hasColours: true });
    expect(code).toBe(0);
    expect(out).toContain("  \u001b[31msecurity\u001b[39m\n");
    expect(stripVTControlCharacters(out)).toMatch(/library +2\.0 +2\.1 +security\n/);
    expect(out).toMatch(/\n2 updates, 1 of them security updates \(apt, .*\)\n$/);
  });

  it("shows the plan, asks, updates and prints the result", async () => {
    offer();
    const { code, out, err } = await steward("updates apply", { answers: ["y"], columns: 80 });
    expect(err).toMatch(/^Update 2 packages\? \[y\/N\] /);
    expect(out).toMatch(/^ {2}1\. /);
    expect(out).toMatch(/ {2}library 2\.0 → 2\.1\n/);
    expect(out).toMatch(/snapshot taken before: \S+\n/);
    expect(out).toMatch(/\n2 packages updated\n$/);
    expect([code, versionOf("editor"), versionOf("library")]).toEqual([0, "1.1", "2.1"]);
    expect(await steward("updates apply --yes")).toMatchObject({ code: 0, out: expect.stringMatching(/nothing/i) });
  });

  it("changes nothing without a yes, or in a dry run", async () => {
    offer();
    expect(await steward("updates apply", { answers: [""] })).toMatchObject({ code: 1 });
    expect(await steward("updates apply")).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
    expect(await steward("updates apply --dry-run")).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse((await steward("updates apply --dry-run --json")).out)).toMatchObject({ dry_run: true });
    expect(versionOf("editor")).toBe("1.0");
  });

  it.each([
    ["updates apply", /^Update 2 packages\?/m],
    ["rollback ID", /^Return to \d{8}-\d{6}\?/m],
    ["snapshots delete ID", /^Delete the snapshot \d{8}-\d{6}\?/m],
    ["keys revoke KEY", /^Revoke the key \w+\?/m],
  ])("shows the plan beside the question where standard output is a file: %s", async (line, question) => {
    offer();
    const id = (await steward("snapshots create")).out.trim();
    await service.clock.advance(2_000);
    const key = service.key(["health:read"]).split("_")[1] ?? "";
    const argv = line.replace("ID", id).replace("KEY", key).split(" ");
    const { code, out, err } = await steward(argv, { answers: ["n"] });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/^ {2}1\. /);
    expect(err).toMatch(question);
    // A plan that is all there is to see is the output.
    const planned = await steward([...argv, "--dry-run"], { answers: ["n"] });
    expect(planned).toMatchObject({ code: 0, out: expect.stringMatching(/^ {2}1\. /), err: "" });
  });

  it("applies security updates alone, and prints JSON", async () => {
    offer();
    const { code, out } = await steward("updates apply --security --no-snapshot --yes --json");
    expect(JSON.parse(out)).toMatchObject({ success: true, snapshot_id: "", packages: [{ name: "library" }] });
    expect([code, versionOf("editor")]).toEqual([0, "1.0"]);
  });

  it("returns at once with --no-wait, and the operation is found later", async () => {
    offer();
    const { code, out, err } = await steward("updates apply --yes --no-wait");
    const id = idOf(out);
    expect({ code, err }).toEqual({
      code: 0,
      err: `steward: started; to follow it: steward operations watch ${id}\n`,
    });
    expect(await steward(["operations", "watch", id])).toMatchObject({ code: 0, out: `updates.apply ${id}: done\n` });
    expect((await steward("updates history")).out).toMatch(new RegExp(`${id} +updates\\.apply +done`));
    expect((await steward(["operations", "show", id])).out).toContain(id);
    expect((await steward("operations --status failed")).out).toBe("0 operations\n");
    expect((await steward("operations watch")).out).toBe("no operation runs\n");
  });

  it("reports a failure on one line with exit code 1", async () => {
    offer();
    service.launcher.fault = new Error("no space");
    const { code, err } = await steward("updates apply --yes");
    expect([code, err.trim().split("\n").at(-1)]).toEqual([expect.any(Number), expect.stringMatching(/^steward: /)]);
    expect(code).not.toBe(0);
  });
});

/** A service in front of the real one that breaks connections off. */
async function breaking(
  isBroken: (path: string, count: number) => boolean,
): Promise<{ address: string; server: Server; paths: string[] }> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      paths.push(`${request.method} ${path}`);
      const count = paths.filter((each) => each === `${request.method} ${path}`).length;
      const isToBreak = isBroken(`${request.method} ${path}`, count);
      const headers = Object.entries(request.headers).flatMap(([name, value]) =>
        typeof value === "string" && !["host", "connection", "content-length"].includes(name)
          ? [[name, value] as [string, string]]
          : [],
      );
      const body = Buffer.concat(chunks);
      void fetch(`${url()}${path}`, { method: request.method ?? "GET", headers, ...(body.length > 0 && { body }) })
        .then(async (answer) => {
          const text = await answer.text();
          // The service has done what it was asked for; only the answer is lost.
          if (isToBreak) return request.socket.destroy();
          response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
        })
        .catch(() => request.socket.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    server,
    paths,
    address: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
  };
}

describe("Ctrl-C", () => {
  it("ends watching an update, and not the update", async () => {
    offer();
    const ctrlC = new AbortController();
    const { address, server } = await breaking((path) => {
      if (path.startsWith("GET /api/v1/operations/")) ctrlC.abort();
      return false;
    });
    const environment = { STEWARD_URL: address };
    const { code, err } = await steward("updates apply --yes", { environment, interrupt: ctrlC.signal });
    server.closeAllConnections();
    server.close();
    const id = idOf(err);
    expect({ code, err }).toEqual({
      code: 130,
      err: `steward: the operation continues; to follow it: steward operations watch ${id}\n`,
    });
    expect(await steward(["operations", "watch", id])).toMatchObject({ code: 0, out: `updates.apply ${id}: done\n` });
    expect(versionOf("library")).toBe("2.1");
  });

  it("says that it is unknown whether an update was started", async () => {
    offer();
    const ctrlC = new AbortController();
    const { address, server } = await breaking((path) => {
      if (path === "POST /api/v1/updates/apply") ctrlC.abort();
      return false;
    });
    const environment = { STEWARD_URL: address };
    const ended = await steward("updates apply --yes", { environment, interrupt: ctrlC.signal });
    server.closeAllConnections();
    server.close();
    expect(ended).toMatchObject({
      code: 130,
      err: "steward: whether it was started is not known; what runs and has run: steward operations\n",
    });
  });
});

describe("a connection that is lost", () => {
  it("begins an update once, and follows it to its end", async () => {
    offer();
    const { address, server, paths } = await breaking((path, count) => count === 1 && !path.includes("dry_run"));
    const { code, out } = await steward("updates apply --yes", { environment: { STEWARD_URL: address } });
    server.closeAllConnections();
    server.close();
    expect([code, out]).toEqual([0, expect.stringMatching(/\n2 packages updated\n$/)]);
    expect(paths.filter((path) => path === "POST /api/v1/updates/apply").length).toBeGreaterThan(1);
    expect((await steward("operations")).out).toMatch(/\n1 operation\n$/);
  });

  it("is reported in one line where no service answers", async () => {
    await service.app.close();
    expect(await steward("updates apply --yes")).toMatchObject(
      refusal(
        /^steward: cannot reach the service: .*ECONNREFUSED.* \(is it running\? systemctl status steward, journalctl -u steward\)\n$/,
      ),
    );
    expect(await steward("snapshots create")).toMatchObject(refusal(/cannot reach/));
  });
});

describe("steward snapshots and rollback", () => {
  it("takes, lists, compares and deletes snapshots, and rolls back", async () => {
    const made = await steward(["snapshots", "create", "before the storm"]);
    const id = made.out.trim();
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^\d{8}-\d{6}\n$/) });
    expect((await steward("snapshots")).out).toMatch(new RegExp(`${id} .*before the storm\n1 snapshot\n$`));
    offer();
    expect((await steward("updates apply --no-snapshot --yes")).code).toBe(0);
    expect((await steward(["snapshots", "diff", id])).out).toMatch(/editor 1\.0 → 1\.1\n/);
    expect((await steward(["snapshots", "diff", id, "/etc/nowhere"])).err).toMatch(
      /cannot compare \/etc\/nowhere: neither the snapshot nor the host has it/,
    );
    expect((await steward(["rollback", id, "--dry-run"])).out).toMatch(/^ {2}1\. /);
    expect(await steward(["rollback", id], { answers: ["no"] })).toMatchObject({ code: 1 });
    expect(versionOf("editor")).toBe("1.1");
    const back = await steward(["rollback", id], { answers: ["yes"] });
    expect(back).toMatchObject({ code: 0, err: expect.stringContaining(`Return to ${id}? [y/N]`) });
    expect(versionOf("editor")).toBe("1.0");
    expect(await steward(["snapshots", "delete", id])).toMatchObject({ code: 2 });
    expect((await steward(["snapshots", "delete", id, "--yes"])).code).toBe(0);
    expect(await steward("rollback 20200101-000000 --yes")).toMatchObject(refusal("NOT_FOUND"));
  });
});

describe("steward rollback", () => {
  it("passes on its options", async () => {
    const id = (await steward("snapshots create")).out.trim();
    offer();
    expect((await steward("updates apply --no-snapshot --yes")).code).toBe(0);
    service.snapshots.nowhere.add("editor");
    expect(await steward(["rollback", id, "--yes"])).toMatchObject({ code: 2, err: expect.stringContaining("editor") });
    const options = ["--partial", "--etc", "all", "--allow-downgrade", "editor", "--json", "--yes"];
    const { code, out } = await steward(["rollback", id, ...options]);
    expect(code).toBe(0);
    const { operation_id: operationId } = JSON.parse(out) as { operation_id: string };
    expect(service.operationStore.read(operationId)?.spec.input).toEqual({
      snapshotId: id,
      etc: "all",
      partial: true,
      allowDowngrade: ["editor"],
    });
  });

  it("can be required for an update", async () => {
    offer();
    service.snapshots.nowhere.add("editor");
    expect(await steward("updates apply --require-rollback --yes")).toMatchObject(refusal("editor"));
    expect((await steward("updates apply --yes")).code).toBe(0);
    expect((await steward("snapshots")).out).toMatch(/not .*editor/);
  });
});

describe("steward chat, connectors and explain", () => {
  it("prints the answer without terminal escapes", async () => {
    expect(await steward("chat say hello")).toEqual({ code: 0, out: "Hello to you\n", err: "" });
    expect(model.calls.at(-1)).toMatchObject({ messages: [{ role: "user", content: "say hello" }] });
  });

  it("colours the footer of an answer by the colours of standard error", async () => {
    for (const argv of [
      ["chat", "hello"],
      ["explain", "plain"],
    ]) {
      const file = await steward(argv, { columns: 80, hasColours: true });
      expect([argv, file.err]).toEqual([argv, expect.stringMatching(/ by local/)]);
      expect(file.err).not.toContain("\u001b");
      const terminal = await steward(argv, { columns: 80, hasErrorColours: true });
      expect(terminal.err).toContain("\u001b[2m");
    }
  });

  it("reads standard input, and attaches journal entries without secrets", async () => {
    service.journal.write({ message: "password=hunter2", unit: "nginx.service" });
    await steward(["chat", "--system", "be brief", "--attach-logs", "nginx", "what is wrong"], {
      stdin: "some text\n",
      local: { redact: (text) => Promise.resolve(text.replace("hunter2", "[secret]")) },
    });
    expect(model.calls.at(-1)?.messages).toEqual([
      { role: "system", content: "be brief" },
      { role: "user", content: expect.stringMatching(/newest 1 entries.*password=\[secret\]/s) },
      { role: "user", content: "what is wrong\n\nsome text" },
    ]);
  });

  it("chats until the person ends it", async () => {
    const { code, out } = await steward("chat", { answers: ["hello", "and again"] });
    expect([code, out]).toEqual([0, "Hello to you\nHello to you\n"]);
    expect(model.calls.at(-1)?.messages).toHaveLength(3);
  });

  it.each([
    [["chat"], {}, /no message was given/],
    [["chat", "--temperature", "3", "x"], {}, /a number from 0 to 2/],
    [["chat", "--connector", "none", "x"], {}, /NOT_FOUND/],
    [["chat", "--attach-logs", "nobody", "x"], {}, /cannot attach logs of nobody: there are none/],
  ] as const)("refuses %j with exit code 2", async (argv, setting, message) => {
    expect(await steward(argv, setting)).toMatchObject({ code: 2, err: expect.stringMatching(message) });
  });

  it("attaches no logs that the key may not read", async () => {
    const environment = { STEWARD_API_KEY: service.key(["connectors:chat"]) };
    expect(await steward("chat --attach-logs nginx x", { environment })).toMatchObject(
      refusal("lacks the scope logs:read"),
    );
    expect(model.calls).toEqual([]);
  });

  it("lists and tests connectors, and explains a check", async () => {
    expect((await steward("connectors")).out).toMatch(/local \(default\) +Fake +fake-1/);
    expect(await steward("connectors test")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^local: .* ms\)\n$/),
    });
    const preview = await steward("explain plain --preview");
    expect(preview.out).toContain("--- user");
    expect(model.calls.filter(({ messages }) => messages.length > 0)).toEqual([]);
    expect((await steward("explain plain")).out).toBe("Hello to you too\n");
  });
});
