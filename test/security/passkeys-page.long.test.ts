import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { apiBase } from "#contract/limits.ts";
import { type Browser, type BrowserContext, launchChromium, type Page } from "../process/support/chromium.ts";
import { type RunningService, startService } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import { type OpenServer, startOpenServer } from "./support/open-server.ts";
import { addAuthenticator, registerOnPage, signInByPasskey } from "./support/passkeys.ts";
import { askInPage, signedIn, signInAt } from "./support/sign-in.ts";

const workspace = createWorkspace();
let service: RunningService;
let browser: Browser;
/** The page of an attacker: another port of the same host, for which browsers use the same passkeys. */
let attacker: OpenServer;
let context: BrowserContext;
let page: Page;

const own = (): string => `http://localhost:${service.port}`;

describe.runIf(hasBrowser())("passkeys on the page to sign in", () => {
  beforeAll(async () => {
    service = await startService(workspace, { environment: { STEWARD_RATE_LIMITS: "off" } });
    [attacker, browser] = await Promise.all([startOpenServer(), launchChromium(workspace)]);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    attacker?.close();
    await workspace.dispose();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
  });
  afterEach(async () => {
    const client = createClient({ url: service.url, key: service.adminKey });
    const { passkeys } = await client.listPasskeys();
    for (const { id } of passkeys) await client.removePasskey({ params: { id } });
    await context.close();
  });

  const button = (name: string) => page.getByRole("button", { name, exact: true });

  const passkeys = () => page.getByRole("region", { name: "Passkeys" });

  async function register(name: string): Promise<void> {
    await signInAt(page, own(), service.adminKey);
    await page.getByText("To register one, get administrative access.").waitFor();
    expect(await button("Register a passkey").isVisible()).toBe(false);
    await registerOnPage(page, service.adminKey, name);
  }
  it("sign in and elevate without the key, from when they are registered until they are removed", async () => {
    await addAuthenticator(page);
    await register("<b>laptop</b>");
    expect(await passkeys().locator("td").first().textContent()).toContain("<b>laptop</b>");
    await signInByPasskey(page);
    await signedIn(page);
    expect(await askInPage(page, "/auth/keys?dry_run=true", "POST")).toBe(403);
    await page.getByRole("button", { name: "Get administrative access" }).click();
    await button("Use a passkey").click();
    await page.getByText("may change something until").first().waitFor();
    await page.getByLabel("Name of a new passkey").fill("again");
    await button("Register a passkey").click();
    await page.getByText("This authenticator has a passkey of this key already.").waitFor();
    await button("Remove the passkey <b>laptop</b>").click();
    await page.getByText("The passkey <b>laptop</b> was removed.").waitFor();
    await passkeys().waitFor({ state: "detached" });
    await signInByPasskey(page);
    await page.getByText("it is not known here, or was removed").waitFor();
    const texts = service.lines().map((line) => JSON.stringify(line));
    expect(texts.filter((line) => /clientDataJSON|attestationObject/.test(line))).toEqual([]);
  });

  it("are refused where the authenticator has not made sure who uses it", async () => {
    await addAuthenticator(page, false);
    await page.goto(`${own()}/console/`);
    await button("Sign in with a passkey").click();
    await page.getByText("The browser has not used a passkey:").waitFor();
  });

  it("are good for nothing when another port of the host asks for them [signed-for-another-page]", async () => {
    await addAuthenticator(page);
    await register("laptop");
    const options = await fetch(`${service.url}${apiBase}/auth/passkeys/request-options`, { method: "POST" });
    attacker.serve("/phish", "<title>phish</title>");
    await page.goto(`http://localhost:${attacker.port}/phish`);
    // The browser signs for it, since a passkey belongs to a name, not to a port; what it signs says which page has asked.
    const passkey = await page.evaluate(
      async (given) => {
        const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(given);
        const found = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
        return found.toJSON();
      },
      await options.json(),
    );
    const answer = await fetch(`${own()}${apiBase}/auth/sessions`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: own() },
      body: JSON.stringify({ passkey }),
    });
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining("origin")]);
  });

  it("are not offered where the address is not a name, and the page says why", async () => {
    await page.goto(`http://127.0.0.1:${service.port}/console/`);
    await page.getByText("Passkeys need a name in the address of this page, not an IP address.").first().waitFor();
    expect(await button("Sign in with a passkey").isVisible()).toBe(false);
  });
});
