import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { Browser, Page } from "../process/support/chromium.ts";
import { type ModelServer, startModelServer } from "../process/support/model-server.ts";
import { makeDirectory, type RunningService, startService } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import { writeLog } from "../process/support/ws-journal.ts";
import { axeFaults, looks, type OpenConsole, openConsole, overflowOf, startBrowser, tabTo } from "./support/console.ts";

const question = "Is it the backup?";
const hourMs = 3_600_000;
const answer =
  "The memory is held by the backup [L1]. Nothing else fails [C1].\n\n1. Wait for its end [C1, C2].\n2. It is so each week.\n\nMore is in [L99].";

const calling = (name: string, given: object) => ({
  tool_calls: [{ id: name, type: "function", function: { name, arguments: JSON.stringify(given) } }],
});

describe.runIf(hasBrowser())("a diagnosis in the console", () => {
  const workspace = createWorkspace();
  let model: ModelServer;
  /** Until then it does not speak for the second time. */
  let held = Promise.withResolvers<void>();
  let service: RunningService;
  let browser: Browser;
  let key: string;
  let open: OpenConsole;
  let page: Page;

  const keyWith = async (...scopes: readonly string[]): Promise<string> => {
    const admin = createClient({ url: service.url, key: service.adminKey });
    return ((await admin.createKey({ body: { name: "reader", scopes: [...scopes] } })) as { key: string }).key;
  };

  beforeAll(async () => {
    const journalDir = makeDirectory(workspace, "journal", 0o755);
    writeLog(`${journalDir}/system.journal`, [
      { message: "the backup takes all memory", unit: "systemd-oomd.service", priority: 4 },
    ]);
    const until = new Date(Date.now() + hourMs).toISOString();
    const turns = [
      calling("listChecks", {}),
      calling("listUsers", {}),
      calling("silenceAlert", { check: "memory", until, stated_reason: "It is known." }),
      { content: answer },
    ];
    model = await startModelServer({
      async messageTo({ messages }) {
        const spoken = (messages as readonly { role: string }[]).filter(({ role }) => role === "assistant").length;
        if (spoken === 1) await held.promise;
        return turns[spoken] ?? { content: answer };
      },
    });
    const list = `[{ name: local, provider: openai-compatible, model: ${model.model}, base_url: "${model.url}" }]`;
    service = await startService(workspace, {
      settings: `updates: { enabled: false }\nconnectors: { discover: false, list: ${list} }\nhealth: { checks: {} }\n`,
      environment: { STEWARD_RATE_LIMITS: "off", STEWARD_JOURNAL_DIR: journalDir },
    });
    browser = await startBrowser(workspace);
    const reads = ["health:read", "system:read", "logs:read", "connectors:read", "metrics:read", "audit:read"];
    key = await keyWith(...reads, "connectors:chat", "health:fix:silences");
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await model?.close();
    await workspace.dispose();
  });
  beforeEach(async () => {
    held = Promise.withResolvers();
    open = await openConsole(browser, { url: service.url, key });
    ({ page } = open);
    return () => open.context.close();
  });

  const drawer = () => page.getByRole("dialog", { name: "Memory", exact: true });
  const openPart = async (): Promise<void> => {
    await open.open("checks?check=memory");
    await drawer().getByText("Ask a language model", { exact: true }).click();
  };
  const elevateAs = async (own: string): Promise<void> => {
    const dialog = page.getByRole("dialog", { name: "Administrative access" });
    await dialog.getByLabel("Key or code").fill(own);
    await dialog.getByRole("button", { name: "Get administrative access" }).click();
    await dialog.waitFor({ state: "detached" });
  };

  it("shows what will be sent, and sends nothing", async () => {
    const before = model.chats();
    await openPart();
    await drawer()
      .getByLabel(/^Why, and what to do/)
      .fill(question);
    await drawer().getByRole("button", { name: "What will be sent" }).click();
    await elevateAs(key);
    const sent = drawer().getByRole("region", { name: "Question and evidence" });
    await sent.getByText("the backup takes all memory").waitFor();
    expect(await sent.textContent()).toContain(`${question}\n\nadvice begins `);
    await drawer()
      .getByText(/^It may call \d+ operations$/)
      .click();
    await drawer().getByText("listChecks", { exact: true }).waitFor();
    expect([model.chats() - before, await axeFaults(page)]).toEqual([0, []]);
  });

  it("shows the calls as they come, the answer with what it rests on, and carries out what is proposed after its plan", async () => {
    await openPart();
    await drawer().getByRole("button", { name: "Ask", exact: true }).click();
    await elevateAs(key);
    await drawer().getByRole("listitem").filter({ hasText: "C1 listChecks" }).getByText("200").waitFor();
    await drawer().getByText("Waiting for the model").waitFor();
    held.resolve();
    const found = drawer().getByRole("region", { name: "Answer" });
    await found.waitFor();
    expect(await found.locator(".answer p").allTextContents()).toEqual([
      "The memory is held by the backup [L1]. Nothing else fails [C1].",
      "",
      "1. Wait for its end [C1, C2].",
      "2. It is so each week.",
      "",
      "More is in [L99 (does not exist)].",
    ]);
    expect(await found.locator("mark").allTextContents()).toEqual([
      "It is so each week.",
      "More is in [L99 (does not exist)].",
    ]);
    await found.getByText("It cites what does not exist: L99.").waitFor();
    await found.getByRole("listitem").filter({ hasText: "C2 listUsers" }).getByText("403 FORBIDDEN").waitFor();
    await found.getByRole("button", { name: "C2: show the call" }).click();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("listUsers");
    for (const look of looks) {
      await open.look(look);
      expect([look, await axeFaults(page), await overflowOf(page)]).toEqual([look, [], 0]);
    }
    await open.look({ width: 1280, theme: "light" });

    await found.getByRole("link", { name: "L1: show the journal entry" }).click();
    await page.getByText("the backup takes all memory").first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/console/logs");
    await page.goBack();
    await found.getByText("It is known.", { exact: true }).waitFor();

    await found.getByRole("button", { name: "Silence alert", exact: true }).click();
    const plan = page.getByRole("dialog", { name: "Silence alert: memory" });
    await plan.getByRole("listitem").first().waitFor();
    const client = createClient({ url: service.url, key: service.adminKey });
    expect((await client.listSilences()).silences).toEqual([]);
    await plan.getByRole("button", { name: "Silence alert", exact: true }).click();
    await plan.locator(".hint.ok").waitFor();
    expect((await client.listSilences()).silences).toMatchObject([{ check: "memory" }]);
    // What the key may not read is refused, which the browser reports.
    expect(open.faults.filter((each) => !each.includes("403"))).toEqual([]);

    await open.open("");
    const changed = page.locator(".card").filter({ has: page.getByRole("heading", { name: "Changed recently" }) });
    await changed.getByText(/^silence alert/).waitFor();
    expect(await changed.getByText(/^diagnose/).count()).toBe(0);
  });

  it("ends at the provider when somebody stops it", async () => {
    const before = { chats: model.chats(), hungUp: model.hungUp() };
    await open.open("checks?check=memory");
    await drawer().getByText("Ask a language model", { exact: true }).click();
    await drawer().getByRole("button", { name: "Ask", exact: true }).click();
    await elevateAs(key);
    // The second one is held.
    await expect.poll(model.chats).toBe(before.chats + 2);
    await drawer().getByRole("button", { name: "Stop", exact: true }).click();
    await drawer().getByRole("button", { name: "Ask", exact: true }).waitFor();
    await expect.poll(model.hungUp).toBe(before.hungUp + 1);
  });

  it("takes a question about the host, by keyboard alone", async () => {
    await open.open("");
    await tabTo(page, page.getByRole("button", { name: "Ask a language model" }));
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Ask a language model" });
    await tabTo(page, dialog.getByRole("button", { name: "Ask", exact: true }));
    await page.keyboard.press("Enter");
    await dialog.getByText("Write what you want to know.").waitFor();
    await tabTo(page, dialog.getByLabel("Question"), "Shift+Tab");
    await page.keyboard.type(question);
    await tabTo(page, dialog.getByRole("button", { name: "Ask", exact: true }));
    await page.keyboard.press("Enter");
    await elevateAs(key);
    await dialog.getByText("Waiting for the model").waitFor();
    await expect.poll(() => model.received().some((sent) => sent.includes(question))).toBe(true);
    expect([await axeFaults(page), await overflowOf(page)]).toEqual([[], 0]);
  });

  it("says what is missing: the scope of the key, or a connector", async () => {
    await page.route(/\/api\/v1\/connectors$/, (route) =>
      route.fulfill({ json: { default: null, connectors: [], total: 0, limit: null, next_cursor: null } }),
    );
    await openPart();
    await drawer().getByText("No language model is configured").waitFor();
    const other = await openConsole(browser, { url: service.url, key: await keyWith("health:read") });
    await other.open("checks?check=memory");
    await other.page.getByText("Ask a language model", { exact: true }).click();
    await other.page.getByText("Your key lacks the scope connectors:chat.").waitFor();
    await other.context.close();
  });
});
