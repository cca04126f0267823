import { computed, effect, signal } from "@preact/signals";
import type { Identity } from "#contract/auth.ts";
import type { PasskeyAssertion, PasskeyRegistration } from "#contract/passkeys.ts";
import type { SessionEntry } from "#contract/sessions.ts";
import { type Answer, call, connected, onSessionEnd, Refusal, secret } from "./api/call.ts";
import { askAhead, forgetAll, refreshAll } from "./api/resource.ts";
import { texts } from "./texts/session.ts";

export type Stage = "starting" | "out" | "in" | "unreachable";
export const stage = signal<Stage>("starting");
export const identity = signal<Identity | undefined>(undefined);
export const session = signal<SessionEntry | undefined>(undefined);
/** What the page to sign in says. */
export const notice = signal("");
export const isElevated = computed(() => session.value?.elevated === true);

export type Credential = NonNullable<Parameters<typeof call<"createSession">>[1]>["body"];
/** A key or a one-time code, by how it begins. */
export const credentialOf = (text: string): NonNullable<Credential> =>
  text.startsWith("stc_") ? { code: text } : { key: text };

/** Ends once it is known whose session this is. */
export const untilSignedIn = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = effect(() => {
      if (identity.value === undefined) return;
      resolve();
      queueMicrotask(() => stop());
    });
  });

let timer: ReturnType<typeof setTimeout> | undefined;

/** Notices the end of administrative access without asking: that would use the session. */
function watchElevation(own: SessionEntry | undefined): void {
  clearTimeout(timer);
  if (own?.elevation_ends_at == null) return;
  const left = Math.max(0, Date.parse(own.elevation_ends_at) - Date.now());
  timer = setTimeout(() => {
    session.value = { ...own, elevated: false, elevation_ends_at: null };
  }, left);
}

async function load(): Promise<void> {
  const [who, { sessions }] = await Promise.all([call("whoami"), call("listSessions")]);
  const own = sessions.find(({ current }) => current);
  identity.value = who;
  session.value = own;
  watchElevation(own);
}

/** Where the budget of the key is used up, it is asked again when the service says. */
function loadLater(error: unknown): void {
  const ms = error instanceof Refusal ? error.retryAfterMs : undefined;
  if (ms !== undefined) setTimeout(() => void load().catch(loadLater), ms);
}

function leave(message: string): void {
  secret.remove();
  clearTimeout(timer);
  forgetAll();
  identity.value = undefined;
  session.value = undefined;
  notice.value = message;
  stage.value = "out";
}

/** Taken out of the address before anything else: it stays in no history and no bookmark. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  return code;
}

/** Begins a session. @throws Refusal */
export async function signIn(body: NonNullable<Credential>): Promise<void> {
  const before = secret.get();
  secret.remove();
  try {
    secret.set((await call("createSession", { body })).secret);
  } catch (error) {
    if (before !== null) secret.set(before);
    throw error;
  }
  await load();
  notice.value = "";
  stage.value = "in";
}

/** Gets administrative access. @throws Refusal */
export async function elevate(body: NonNullable<Credential>): Promise<void> {
  secret.set((await call("elevateSession", { body })).secret);
  await load();
  refreshAll();
}

export async function signOut(): Promise<void> {
  const own = session.peek();
  if (own !== undefined) await call("endSession", { params: { id: own.id } });
  leave(texts.signedOut);
}

/** Goes on with the session of this browser, or begins one with the code of the address. */
export async function begin(): Promise<void> {
  onSessionEnd(() => leave(texts.ended));
  secret.onChange(() => {
    if (secret.get() === null) leave(texts.signedOut);
    else
      void load().then(
        () => (stage.value = "in"),
        () => undefined,
      );
  });
  // What is known of the session is asked again with the connection.
  connected.subscribe((isConnected) => {
    if (isConnected && stage.peek() === "in" && identity.peek() === undefined) void load().catch(() => undefined);
  });
  const code = takeCode();
  try {
    if (secret.get() !== null) {
      // The page asks for what it shows at the same time: where the session is over, the first answer says so.
      stage.value = "in";
      askAhead("listChecks");
      askAhead("getHealth");
      try {
        await load();
        // A link must not replace the session of anyone who follows it.
        if (code !== null) notice.value = texts.alreadySignedIn;
        return;
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 401) {
          loadLater(error);
          return;
        }
        notice.value = "";
      }
    }
    stage.value = "out";
    if (code !== null) await signIn({ code });
  } catch (error) {
    notice.value = error instanceof Error ? error.message : String(error);
    if (!(error instanceof Refusal)) stage.value = "unreachable";
  }
}

/** Why this page cannot use passkeys; undefined where it can. */
export function whyNoPasskeys(): string | undefined {
  if (/^[\d.]+$|:/.test(location.hostname)) return texts.passkeyNeedsName;
  if (!isSecureContext) return texts.passkeyNeedsHttps;
  if (!("PublicKeyCredential" in window) || !("parseRequestOptionsFromJSON" in PublicKeyCredential))
    return texts.passkeyUnknown;
  return undefined;
}

/** What an authenticator signs, as the body of a sign-in. */
export async function askForPasskey(): Promise<NonNullable<Credential>> {
  const options = (await call("getPasskeyRequestOptions")) as PublicKeyCredentialRequestOptionsJSON;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  return { passkey: credential.toJSON() as PasskeyAssertion };
}

/** Has an authenticator make a passkey of the session's key. */
export async function registerPasskey(name: string): Promise<Answer<"createPasskey">> {
  const options = (await call("getPasskeyCreationOptions")) as PublicKeyCredentialCreationOptionsJSON;
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential;
  const made = await call("createPasskey", { body: { name, credential: credential.toJSON() as PasskeyRegistration } });
  refreshAll();
  return made;
}

const globs = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`);

/**
 * Whether the key of this session has a scope, for this resource; the service decides. `proposes`: it would wait for the approval of
 * somebody else.
 */
export function mayDo(scope: string, resource?: string): "does" | "proposes" | "lacks" {
  if (scope === "self" || scope === "public") return "does";
  let best: "does" | "proposes" | "lacks" = "lacks";
  for (const each of identity.value?.scopes ?? []) {
    const proposes = each.startsWith("propose:");
    const granted = proposes ? each.slice("propose:".length) : each;
    const [name = ""] = granted.split("@");
    const narrowed = granted.startsWith(`${scope}:`) ? granted.slice(scope.length + 1) : undefined;
    const fits =
      name === scope ||
      (narrowed !== undefined &&
        (resource === undefined ||
          globs(narrowed).test(resource) ||
          globs(narrowed.split("@")[0] ?? "").test(resource)));
    if (fits && !proposes) return "does";
    if (fits) best = "proposes";
  }
  return best;
}
