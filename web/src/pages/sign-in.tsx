import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { notice, signIn } from "../session.ts";
import { texts } from "../texts/session.ts";
import { texts as shell } from "../texts/shell.ts";
import { CredentialForm } from "../ui/elevate.tsx";

export function SignIn(): JSX.Element {
  useEffect(() => {
    document.title = `${texts.title} · ${location.host} · ${shell.product}`;
  }, []);
  return (
    <main class="sign-in" id="main" tabIndex={-1}>
      <section class="card">
        <h1>
          <span class="mark">{"S"}</span>
          {texts.title}
        </h1>
        <p class="quiet">{texts.host(location.host)}</p>
        {notice.value !== "" && (
          <p class="hint" role="status">
            {notice.value}
          </p>
        )}
        <p>{texts.how}</p>
        <CredentialForm label={texts.signIn} passkeyLabel={texts.signInWithPasskey} use={signIn} />
      </section>
    </main>
  );
}
