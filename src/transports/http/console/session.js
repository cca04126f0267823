/** Where the API is, as seen from this page: the service may be below any path. */
const api = new URL("../api/v1/", document.baseURI);
/** The second half of the session. Other services of this origin are below other paths. */
const place = `steward-session ${api.pathname}`;

const element = (id) => {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
};
const say = (text) => {
  element("status").textContent = text;
};
const complain = (text) => {
  element("problem").textContent = text;
};

/** Why this page cannot use passkeys; undefined where it can. */
function whyNoPasskeys() {
  const isAddress = /^[\d.]+$|:/.test(location.hostname);
  if (isAddress) return "Passkeys need a name in the address of this page, not an IP address.";
  if (!isSecureContext) return "Passkeys need HTTPS, or the name localhost.";
  if (!("PublicKeyCredential" in window) || !("parseRequestOptionsFromJSON" in PublicKeyCredential))
    return "This browser does not know passkeys.";
  return undefined;
}

const reason = whyNoPasskeys();

/** Taken out of the address before anything else: it stays in no history and no bookmark. */
function takeCode() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  return code;
}

/** An answer that is an error of the service. */
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function call(method, path, body) {
  const secret = localStorage.getItem(place);
  const answer = await fetch(new URL(path, api), {
    method,
    credentials: "same-origin",
    headers: {
      ...(secret !== null && { "X-Steward-Session": secret }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const json = await answer.json().catch(() => undefined);
  if (answer.ok) return json;
  throw new Refusal(answer.status, json?.error?.message ?? `the service answered ${answer.status}`);
}

const time = (text) => (text === null ? "never" : new Date(text).toLocaleString());
const accessOf = ({ elevated, elevation_ends_at: end }) =>
  elevated ? `may change something until ${time(end)}` : "may read";

/** Text is set as text, so that names of keys are never read as markup. */
function cell(text) {
  const made = document.createElement("td");
  made.textContent = text;
  return made;
}

/** @param label what the button does, for those who do not see the row. */
function rowOf(texts, { text, label, onClick }) {
  const row = document.createElement("tr");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.setAttribute("aria-label", label);
  button.addEventListener("click", onClick);
  const last = document.createElement("td");
  last.append(button);
  row.append(...texts.map(cell), last);
  return row;
}

function sessionRow(session) {
  const { id, name, remote_address: from, created_at: since, last_used_at: used, current } = session;
  const whose = current ? `${name} (this one)` : name;
  return rowOf([whose, from ?? "unknown", time(since), time(used), accessOf(session)], {
    text: "Sign out",
    label: current ? "Sign out this session" : `Sign out session ${id} of ${name}`,
    onClick: () => end(session),
  });
}

function passkeyRow(passkey) {
  const { name, key_name: key, domain, created_at: since, last_used_at: used } = passkey;
  return rowOf([name, key, domain, time(since), time(used)], {
    text: "Remove",
    label: `Remove the passkey ${name}`,
    onClick: () => removePasskey(passkey),
  });
}

/** Shows one of the two sections. @param title what is focused, where something has changed for whoever looks at it. */
function show(which, title) {
  for (const id of ["sign-in", "session"]) element(id).hidden = id !== which;
  if (title !== undefined) element(title).focus();
}

function forget(message) {
  localStorage.removeItem(place);
  say(message);
  show("sign-in", "sign-in-title");
}

/** What takes administrative access is not offered without: an authenticator would keep a passkey that is then refused. */
function showElevated(isElevated) {
  element("elevation").hidden = isElevated;
  element("passkey-form").hidden = !isElevated || reason !== undefined;
  element("passkey-hint").hidden = isElevated || reason !== undefined;
}

let timer;

/** Says that administrative access is over when it is, without asking: that would use the session. */
function watchElevation(own) {
  clearTimeout(timer);
  if (own?.elevated !== true) return;
  const left = Math.max(0, Date.parse(own.elevation_ends_at) - Date.now());
  timer = setTimeout(() => {
    say("Administrative access has ended.");
    element("access").textContent = "may read";
    showElevated(false);
  }, left);
}

async function load() {
  const [identity, { sessions }, { passkeys }] = await Promise.all(
    ["auth/whoami", "auth/sessions", "auth/passkeys"].map((path) => call("GET", path)),
  );
  const own = sessions.find(({ current }) => current);
  element("key").textContent = `${identity.name} (${identity.key_id})`;
  element("host").textContent = identity.host ?? "";
  element("host-name").textContent =
    identity.host === undefined ? location.host : `${identity.host} (${location.host})`;
  element("access").textContent = accessOf(own);
  element("idles-out").textContent = time(own.idles_out_at);
  element("expires").textContent = time(own.expires_at);
  element("scope-count").textContent = String(identity.scopes.length);
  element("scopes").replaceChildren(
    ...identity.scopes.map((scope) => {
      const item = document.createElement("li");
      item.textContent = scope;
      return item;
    }),
  );
  showElevated(own.elevated);
  element("sessions").replaceChildren(...sessions.map(sessionRow));
  element("passkeys").replaceChildren(...passkeys.map(passkeyRow));
  element("passkey-list").hidden = passkeys.length === 0;
  watchElevation(own);
}

function reasonOf(error) {
  if (error instanceof Refusal) return error.message;
  // What a browser throws where nobody uses an authenticator, or it has the passkey already.
  if (error instanceof DOMException && error.name === "InvalidStateError")
    return "This authenticator has a passkey of this key already.";
  if (error instanceof DOMException) return `The browser has not used a passkey: ${error.message}`;
  return "The service cannot be reached.";
}

/** Runs what somebody asked for, and says what went wrong. */
async function attempt(work) {
  complain("");
  say("");
  try {
    await work();
  } catch (error) {
    if (error instanceof Refusal && error.status === 401 && localStorage.getItem(place) !== null) {
      forget("The session has ended. Sign in again.");
    } else {
      complain(reasonOf(error));
    }
  }
}

const bodyOf = (text) => (text.startsWith("stc_") ? { code: text } : { key: text });

async function signIn(body) {
  const before = localStorage.getItem(place);
  localStorage.removeItem(place);
  try {
    const { secret } = await call("POST", "auth/sessions", body);
    localStorage.setItem(place, secret);
  } catch (error) {
    if (before !== null) localStorage.setItem(place, before);
    throw error;
  }
  await load();
  show("session", "session-title");
}

/** What an authenticator signs, as the body of a sign-in. */
async function askForPasskey() {
  const options = await call("POST", "auth/passkeys/request-options");
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey });
  return { passkey: credential.toJSON() };
}

async function registerPasskey(name) {
  const options = await call("POST", "auth/passkeys/creation-options");
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await navigator.credentials.create({ publicKey });
  await call("POST", "auth/passkeys", { name, credential: credential.toJSON() });
  await load();
  say(`The passkey ${name} signs you in from now on.`);
}

const removePasskey = ({ id, name }) =>
  attempt(async () => {
    await call("DELETE", `auth/passkeys/${encodeURIComponent(id)}`);
    await load();
    say(`The passkey ${name} was removed. Sessions that were begun with it go on.`);
  });

async function elevate(body) {
  const { secret } = await call("POST", "auth/sessions/elevate", body);
  localStorage.setItem(place, secret);
  await load();
  say("Administrative access.");
}

const end = (session) =>
  attempt(async () => {
    await call("DELETE", `auth/sessions/${encodeURIComponent(session.id)}`);
    if (session.current) return forget("Signed out.");
    await load();
    say(`Session ${session.id} was signed out.`);
  });

function onSubmit(form, input, work) {
  element(form).addEventListener("submit", (event) => {
    event.preventDefault();
    const field = element(input);
    const text = field.value.trim();
    field.value = "";
    void attempt(() => work(text));
  });
}

onSubmit("sign-in-form", "credential", (text) => signIn(bodyOf(text)));
onSubmit("elevate-form", "elevation-credential", (text) => elevate(bodyOf(text)));
onSubmit("passkey-form", "passkey-name", registerPasskey);
element("passkey-sign-in").addEventListener("click", () => {
  void attempt(async () => signIn(await askForPasskey()));
});
element("passkey-elevate").addEventListener("click", () => {
  void attempt(async () => elevate(await askForPasskey()));
});
for (const each of document.querySelectorAll(".with-passkeys")) each.hidden = reason !== undefined;
for (const each of document.querySelectorAll(".without-passkeys")) {
  each.hidden = reason === undefined;
  each.textContent = reason ?? "";
}
element("sign-out").addEventListener("click", () => {
  void attempt(async () => {
    const { sessions } = await call("GET", "auth/sessions");
    await end(sessions.find(({ current }) => current));
  });
});
// Another tab has signed in or out, or got other halves.
addEventListener("storage", ({ key }) => {
  if (key !== place) return;
  if (localStorage.getItem(place) === null) show("sign-in");
  else void attempt(load).then(() => show("session"));
});

const code = takeCode();
await attempt(async () => {
  if (localStorage.getItem(place) !== null) {
    try {
      await load();
      show("session");
      // A link must not replace the session of whoever follows it.
      if (code !== null) say("You are signed in already. To use the new address, sign out first and get another one.");
      return;
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 401) throw error;
      localStorage.removeItem(place);
    }
  }
  show("sign-in");
  if (code !== null) await signIn({ code });
});
