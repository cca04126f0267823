import { mkdirSync, writeFileSync } from "node:fs";
import { HtmlValidate } from "html-validate";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { openBrowser } from "../../src/open-browser.ts";
import { axeFaults, elevate, emulate, looks, overflowOf } from "../console/support/console.ts";
import { type Browser, type BrowserContext, launchChromium, type Page } from "../process/support/chromium.ts";
import { type RunningService, startService } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import { askInPage, secretOf, signedIn, signInAt } from "./support/sign-in.ts";

const workspace = createWorkspace();
let service: RunningService;
let browser: Browser;
let context: BrowserContext;
let page: Page;

const own = (): string => `http://localhost:${service.port}`;

describe.runIf(hasBrowser())("the page to sign in", () => {
  beforeAll(async () => {
    service = await startService(workspace, { environment: { STEWARD_RATE_LIMITS: "off" } });
    browser = await launchChromium(workspace);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await workspace.dispose();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
  });
  afterEach(() => context.close());

  const codeOf = async (): Promise<string> => {
    const made = await createClient({ url: service.url, key: service.adminKey }).createCode();
    return (made as { code: string }).code;
  };
  const signIn = (at = page): Promise<void> => signInAt(at, own(), service.adminKey);

  it("signs in with a code, which is gone from the address and the history at once, and elevates [key-in-a-query]", async () => {
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    const code = await codeOf();
    await page.goto(`${own()}/console/access#code=${code}`);
    await signedIn(page);
    expect(await page.evaluate(() => [location.hash, history.length])).toEqual(["", expect.any(Number)]);
    await page.goBack().catch(() => undefined);
    expect(page.url()).not.toContain(code);
    expect(asked.filter((url) => url.includes(code) && !url.includes("#"))).toEqual([]);
    await page.goto(`${own()}/console/access`);
    await signedIn(page);
    const access = page.locator("dt", { hasText: "Access" }).locator("xpath=following-sibling::dd").first();
    expect(await access.textContent()).toBe("may read");
    expect(await askInPage(page, "/auth/keys?dry_run=true", "POST")).toBe(403);
    await elevate(page, await codeOf());
    await page.getByText("may change something until").waitFor();
    expect(await askInPage(page, "/updates/automatic")).toBe(200);
  });

  it("signs in by the file that steward console --open gives to the browser", async () => {
    mkdirSync(workspace.path("runtime"), { mode: 0o700 });
    writeFileSync(workspace.path("xdg-open"), "", { mode: 0o755 });
    const environment = { DISPLAY: ":0", PATH: workspace.path(), XDG_RUNTIME_DIR: workspace.path("runtime") };
    let file = "";
    const start = ([, given = ""]: readonly string[]): Promise<void> => {
      file = given;
      return Promise.resolve();
    };
    await openBrowser(`${own()}/console/#code=${await codeOf()}`, { environment, now: () => Date.now(), start });
    await page.goto(file);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(page.url()).toBe(`${own()}/console/`);
  });

  it("signs out, and shows other sessions, which it ends", async () => {
    await signIn();
    const other = await browser.newContext();
    const otherPage = await other.newPage();
    await signIn(otherPage);
    await page.reload();
    const rows = page.getByRole("region", { name: "All sessions" }).locator("tbody tr");
    await rows.first().waitFor();
    const before = await rows.count();
    const [, id = ""] = (await secretOf(otherPage)).split("_");
    await page.getByRole("button", { name: `Sign out session ${id}` }).click();
    await page.getByText("was signed out").waitFor();
    await expect.poll(() => rows.count()).toBe(before - 1);
    expect(await askInPage(otherPage, "/health")).toBe(401);
    await other.close();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByText("Signed out.").waitFor();
    expect((await context.cookies()).filter(({ name }) => name.startsWith("steward"))).toEqual([]);
  });

  it("signs in with the keyboard alone", async () => {
    await page.goto(`${own()}/console/`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.keyboard.type(service.adminKey);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
  });

  it("is valid HTML, as it is served and once somebody is signed in", async () => {
    const validator = new HtmlValidate({ extends: ["html-validate:standard"] });
    const faults = async (html: string) =>
      (await validator.validateString(html)).results.flatMap(({ messages }) => messages.map(({ ruleId }) => ruleId));
    const served = await (await fetch(`${own()}/console/`)).text();
    expect(await faults(served)).toEqual([]);
    await signIn();
    await page.getByRole("region", { name: "All sessions" }).waitFor();
    expect(await faults(await page.content())).toEqual([]);
    // It finds what is at fault.
    expect(await faults(served.replace("</noscript>", ""))).not.toEqual([]);
  });

  it.each(looks)("has no fault of accessibility by axe, signed out and refused, $theme at $width", async (look) => {
    await page.goto(`${own()}/console/`);
    await emulate(page, look);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByLabel("Key or code").fill("hello");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("cannot sign in").waitFor();
    expect([await axeFaults(page), await overflowOf(page)]).toEqual([[], 0]);
    // It finds what is at fault.
    await page.evaluate(() => document.querySelector("label")?.replaceWith(document.createElement("input")));
    expect(await axeFaults(page)).toContainEqual(expect.stringContaining("label"));
  });
});
