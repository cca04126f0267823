import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { connected, isReplaced, ping } from "./api/call.ts";
import { follow } from "./api/live.ts";
import { pace, useCall } from "./api/resource.ts";
import { type PageEntry, pages } from "./pages/index.ts";
import { SignIn } from "./pages/sign-in.tsx";
import { Link, page } from "./router.tsx";
import { begin, identity, isElevated, notice, session, stage } from "./session.ts";
import { texts as sessionTexts } from "./texts/session.ts";
import { texts } from "./texts/shell.ts";
import { ActionPlace } from "./ui/action.tsx";
import { ElevateDialog } from "./ui/elevate.tsx";
import { local } from "./ui/format.ts";
import { Icon } from "./ui/icons.tsx";
import { Badge, Loading, Problem, Time } from "./ui/parts.tsx";
import { switchTheme, theme } from "./ui/theme.ts";

const tones = { healthy: "ok", degraded: "warn", unhealthy: "bad" } as const;

function HostStatus(): JSX.Element {
  const { data } = useCall("getHealth", {}, { every: pace.seldom });
  return (
    <span class="host">
      <span class="host-name">{identity.value?.host ?? location.host}</span>
      {data !== undefined && <Badge tone={tones[data.status]}>{texts.status[data.status]}</Badge>}
    </span>
  );
}

/** What the session may do, and the way to more. */
function AccessButton(): JSX.Element {
  const isOpen = useSignal(false);
  const own = session.value;
  return (
    <>
      {isElevated.value ? (
        <span class="access" title={sessionTexts.elevatedUntil(local(own?.elevation_ends_at ?? ""))}>
          <Icon name="unlock" />
          <span class="wide">{sessionTexts.elevated}</span>
          <span class="wide quiet">
            {sessionTexts.ends} <Time at={own?.elevation_ends_at} />
          </span>
        </span>
      ) : (
        <button type="button" class="bar" title={sessionTexts.elevate} onClick={() => (isOpen.value = true)}>
          <Icon name="lock" />
          <span class="wide">{sessionTexts.limited}</span>
          <span class="hidden">{sessionTexts.elevate}</span>
        </button>
      )}
      {isOpen.value && <ElevateDialog onClose={() => (isOpen.value = false)} />}
    </>
  );
}

function TopBar({ onMenu }: { readonly onMenu: () => void }): JSX.Element {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <header class="top-bar">
      <button type="button" class="bar menu-button" aria-label={texts.menu} onClick={onMenu}>
        <Icon name="menu" />
      </button>
      <Link to="" class="brand">
        <span class="mark">{"S"}</span>
        <span class="wide">{texts.product}</span>
      </Link>
      <HostStatus />
      <span class="spacer" />
      <AccessButton />
      <button type="button" class="bar" aria-label={texts.theme[other]} onClick={switchTheme}>
        <Icon name={other === "dark" ? "moon" : "sun"} />
      </button>
    </header>
  );
}

function Menu({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): JSX.Element {
  const { data } = useCall("listChecks", {}, { every: pace.seldom });
  const findings = (data?.summary.failed ?? 0) + (data?.summary.warned ?? 0);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a link that is followed by the keyboard sends a click as well.
    <nav class={isOpen ? "menu open" : "menu"} aria-label={texts.pages} onClick={onClose}>
      <ul>
        {pages.map(({ path, name, icon, group }, at) => (
          <li key={path}>
            {group !== undefined && pages[at - 1]?.group !== group && <span class="group">{texts.groups[group]}</span>}
            <Link to={path} current={page.value === path}>
              <Icon name={icon} />
              {texts.pageNames[name]}
              {name === "checks" && findings > 0 && <span class="count">{findings}</span>}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const retryMs = 3000;
const othersAfterMs = 3000;

/** Says that the service does not answer, tries it again, and offers its new console where it was updated. */
function Connection(): JSX.Element | null {
  const replaced = useSignal(false);
  const wasLost = useSignal(false);
  useEffect(() => {
    if (connected.value) {
      if (wasLost.value)
        void isReplaced().then(
          (is) => (replaced.value = is),
          () => undefined,
        );
      return undefined;
    }
    wasLost.value = true;
    const timer = setInterval(() => void ping(), retryMs);
    return () => clearInterval(timer);
  }, [connected.value]);
  if (!connected.value)
    return (
      <div class="banner bad" role="alert">
        {texts.lost}
        <button type="button" onClick={() => void ping()}>
          {texts.retryNow}
        </button>
      </div>
    );
  if (replaced.value)
    return (
      <div class="banner" role="status">
        {texts.replaced}
        <button type="button" onClick={() => location.reload()}>
          {texts.reload}
        </button>
      </div>
    );
  return null;
}

const loadedPages = new Map<string, () => JSX.Element>();
async function loadPage({ path, load }: PageEntry): Promise<void> {
  loadedPages.set(path, await load());
}

/** Loads the other pages once the first one stands. */
function useOtherPages(): void {
  useEffect(() => {
    const timer = setTimeout(() => void Promise.all(pages.map(loadPage)).catch(() => undefined), othersAfterMs);
    return () => clearTimeout(timer);
  }, []);
}

/** A page, loaded when it is opened. Where its file is gone the service has another console by now. */
function LoadedPage({ entry }: { readonly entry: PageEntry }): JSX.Element {
  const error = useSignal<Error | undefined>(undefined);
  const isThere = useSignal(loadedPages.has(entry.path));
  useEffect(() => {
    if (isThere.value) return;
    void loadPage(entry).then(
      () => {
        isThere.value = true;
      },
      () => {
        error.value = new Error(texts.pageGone);
      },
    );
  }, []);
  const Shown = loadedPages.get(entry.path);
  if (isThere.value && Shown !== undefined) return <Shown />;
  return error.value === undefined ? <Loading /> : <Problem error={error.value} onRetry={() => location.reload()} />;
}

function Content(): JSX.Element {
  const found = pages.find(({ path }) => path === page.value);
  if (found === undefined)
    return (
      <div class="page">
        <h1>{texts.notFound}</h1>
        <p>
          <Link to="">{texts.toOverview}</Link>
        </p>
      </div>
    );
  return <LoadedPage key={found.path} entry={found} />;
}

function Frame(): JSX.Element {
  const isOpen = useSignal(false);
  useEffect(() => document.getElementById("main")?.focus({ preventScroll: true }), []);
  useEffect(follow, []);
  useOtherPages();
  return (
    <div class="frame">
      <a class="skip" href="#main">
        {texts.skip}
      </a>
      <TopBar onMenu={() => (isOpen.value = !isOpen.value)} />
      <Menu isOpen={isOpen.value} onClose={() => (isOpen.value = false)} />
      <main id="main" tabIndex={-1}>
        <Connection />
        {notice.value !== "" && (
          <p class="hint" role="status">
            {notice.value}
          </p>
        )}
        <Content />
      </main>
      <ActionPlace />
    </div>
  );
}

/** The whole console, in each of the stages of a session. */
export function Shell(): JSX.Element {
  switch (stage.value) {
    case "starting":
      return (
        <main class="sign-in">
          <Loading rows={4} />
        </main>
      );
    case "out":
      return <SignIn />;
    case "unreachable":
      return (
        <main class="sign-in">
          <section class="card">
            <h1>{sessionTexts.unreachable}</h1>
            <p>{notice.value}</p>
            <button type="button" onClick={() => void begin()}>
              {sessionTexts.tryAgain}
            </button>
          </section>
        </main>
      );
    case "in":
      return <Frame />;
  }
}
