import { signal } from "@preact/signals";

/** Charts are painted anew when it changes. */
export const theme = signal(
  document.documentElement.dataset["theme"] === "dark" ? ("dark" as const) : ("light" as const),
);

export function switchTheme(): void {
  const next = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem("steward-theme", next);
  document.documentElement.dataset["theme"] = next;
  theme.value = next;
}
