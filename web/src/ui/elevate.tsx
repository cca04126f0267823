import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { askForPasskey, type Credential, credentialOf, elevate, whyNoPasskeys } from "../session.ts";
import { texts } from "../texts/session.ts";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./parts.tsx";

/** What a browser throws where nobody uses an authenticator, or it has the passkey already. */
export function passkeyError(error: unknown): Error {
  if (!(error instanceof DOMException)) return error as Error;
  return new DOMException(
    error.name === "InvalidStateError" ? texts.passkeyThere : texts.passkeyNotUsed(error.message),
  );
}

/** The field for a key or a code, with the passkey beside it. */
export function CredentialForm(props: {
  readonly label: string;
  readonly passkeyLabel: string;
  readonly use: (credential: NonNullable<Credential>) => Promise<void>;
}): JSX.Element {
  const error = useSignal<Error | undefined>(undefined);
  const isBusy = useSignal(false);
  const attempt = async (credential: () => Promise<NonNullable<Credential>>): Promise<void> => {
    error.value = undefined;
    isBusy.value = true;
    try {
      await props.use(await credential());
    } catch (thrown) {
      error.value = passkeyError(thrown);
    } finally {
      isBusy.value = false;
    }
  };
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem("credential") as HTMLInputElement;
    const text = field.value.trim();
    field.value = "";
    void attempt(() => Promise.resolve(credentialOf(text)));
  };
  const why = whyNoPasskeys();
  return (
    <form class="credential" onSubmit={onSubmit}>
      {error.value !== undefined && <Problem error={error.value} />}
      <label>
        {texts.credential}
        <input
          name="credential"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          maxLength={200}
          autofocus
        />
      </label>
      <button type="submit" class="primary" disabled={isBusy.value}>
        {props.label}
      </button>
      {why === undefined ? (
        <button type="button" disabled={isBusy.value} onClick={() => void attempt(askForPasskey)}>
          {props.passkeyLabel}
        </button>
      ) : (
        <p class="quiet small">{why}</p>
      )}
    </form>
  );
}

/** Asks for the key, a code or a passkey again. */
export function ElevateDialog(props: { readonly onClose: () => void; readonly onElevated?: () => void }): JSX.Element {
  return (
    <Dialog title={texts.elevateTitle} onClose={props.onClose}>
      <p>{texts.elevateHow}</p>
      <CredentialForm
        label={texts.elevate}
        passkeyLabel={texts.elevateWithPasskey}
        use={async (credential) => {
          await elevate(credential);
          (props.onElevated ?? props.onClose)();
        }}
      />
    </Dialog>
  );
}
