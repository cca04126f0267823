import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const pauseMs = 400;

/** A value that is typed, once the typing pauses: each one of it is planned anew. */
export function useSettled(value: string): string {
  const settled = useSignal(value);
  useEffect(() => {
    const timer = setTimeout(() => (settled.value = value), pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return settled.value;
}
