import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../process/support/program.ts";
import { root } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { updatesOn } from "./support/apt-updates.ts";
import { describeOnHost } from "./support/session.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const ansible = "/usr/bin/ansible-playbook";
/** @throws Error in CI, where a skipped test would go unnoticed. */
function hasAnsible(): boolean {
  if (existsSync(ansible)) return true;
  const reason = "apt-get install --no-install-recommends ansible-core";
  if (process.env["CI"] === "true") throw new Error(`cannot run the playbook: ${reason}`);
  process.stderr.write(`skipped: the playbook of the examples (${reason})\n`);
  return false;
}

describeOnHost("the examples", (session) => {
  const { service, versionsOf, api } = updatesOn(session);
  const names = ["editor", "library", "server"];
  const onlySecurity = { editor: "1.0", library: "1.1", server: "1.0" };
  const environment = () => ({ STEWARD_URL: service().url, STEWARD_API_KEY: service().adminKey });
  const pidOf = async (unit: string) =>
    (await api().listServices({ query: { limit: 1000 } })).services.find(({ name }) => name === unit)?.main_pid;
  const operations = async (): Promise<number> => (await api().listOperations()).total;

  beforeAll(() =>
    session
      .writeUnits({ "toy.service": ["[Service]", "ExecStart=/bin/sleep infinity"] })
      .then(() => session.shell("systemctl start toy")),
  );

  describe("with curl", () => {
    const run = (...words: readonly string[]) =>
      runProgram(workspace, ["/bin/sh", join(root, "examples/curl/steward.sh"), ...words], {
        environment: environment(),
        input: "n\n",
      });

    it("restarts a service", async () => {
      const before = await pidOf("toy.service");
      expect(await run("restart", "toy")).toMatchObject({ code: 0, stderr: "" });
      expect(await pidOf("toy.service")).not.toBe(before);
      expect(await run("restart", "nothing")).toEqual({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/^NOT_FOUND: .*nothing/),
      });
    });

    it("shows what an update would do, and leaves it when nobody says yes", async () => {
      const started = await operations();
      const { code, stdout } = await run("update");
      expect([code, stdout]).toEqual([1, expect.stringMatching(/library.*Do it\? \[y\/N\] $/s)]);
      expect(await operations()).toBe(started);
    });

    it("installs security updates and nothing else, once, and follows them", async () => {
      const started = await operations();
      expect(await run("update", "--yes")).toMatchObject({
        code: 0,
        stderr: "",
        stdout: expect.stringMatching(/library.*\n1 updated, snapshot \d{8}-\d{6}/s),
      });
      expect(await versionsOf(names)).toEqual(onlySecurity);
      expect(await operations()).toBe(started + 1);
      expect((await run("update", "--yes")).code).toBe(0);
      expect(await operations()).toBe(started + 1);
    });
  });

  describe.runIf(hasAnsible())("with Ansible", () => {
    const play = async (words: readonly string[], changes: Readonly<Record<string, string>> = {}) => {
      const argv = [ansible, "-i", "host,", "-e", "steward_restart=toy", ...words] as const;
      const playbook = join(root, "examples/ansible/maintain.yml");
      const ran = await runProgram(workspace, [...argv, playbook], {
        environment: { ...environment(), ANSIBLE_NOCOLOR: "1", LC_ALL: "C.UTF-8", ...changes },
        timeoutMs: 240_000,
      });
      expect(ran.stdout + ran.stderr).not.toContain(service().adminKey);
      return ran;
    };

    it("shows the plan and changes nothing with --check", async () => {
      const [started, pid] = [await operations(), await pidOf("toy.service")];
      const { code, stdout } = await play(["--check"]);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/Show the plan.*library/s)]);
      expect([await operations(), await pidOf("toy.service")]).toEqual([started, pid]);
    });

    it("installs what the plan says, follows it, and restarts the service, however much it prints", async () => {
      const [started, pid] = [await operations(), await pidOf("toy.service")];
      const { code, stdout } = await play(["-vvv"]);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/1 updated, snapshot \d{8}-\d{6}/)]);
      expect(await versionsOf(names)).toEqual(onlySecurity);
      expect(await operations()).toBe(started + 1);
      expect(await pidOf("toy.service")).not.toBe(pid);
      // There is nothing to install any more.
      const again = await play([]);
      expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('"steward_plan.steps": []')]);
      expect(await operations()).toBe(started + 1);
    });

    it("fails with the words of the service", async () => {
      const { code, stdout } = await play(["-e", "steward_restart=nothing"]);
      expect([code, stdout]).toEqual([2, expect.stringMatching(/NOT_FOUND: [^\n]*nothing/)]);
      const wrong = await play([], { STEWARD_API_KEY: "stw_wrong" });
      expect([wrong.code, wrong.stdout]).toEqual([2, expect.stringContaining("UNAUTHORIZED: ")]);
    });
  });
});
