import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { texts } from "../texts/shell.ts";
import { Icon } from "./icons.tsx";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** At the side, over the whole height. */
  readonly drawer?: boolean;
  readonly children: ComponentChildren;
}

/** A modal dialog: Escape, its cross and a click beside it close it, and the focus returns to where it was. */
export function Dialog({ title, onClose, drawer = false, children }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const label = useId();
  // At once: a key that comes before it would be one for the page behind.
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      const back = before?.isConnected ? before : document.getElementById("main");
      if (back instanceof HTMLElement) back.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={drawer ? "drawer" : undefined}
      aria-labelledby={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div class="dialog-box">
        <header>
          <h2 id={label}>{title}</h2>
          <button type="button" class="plain" aria-label={texts.close} onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        <div class="dialog-body">{children}</div>
      </div>
    </dialog>
  );
}
