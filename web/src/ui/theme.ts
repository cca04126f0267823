import { signal } from "@preact/signals";

type Theme = "light" | "dark";
const place = "steward-theme";

/** Charts are painted again when it changes. */
export const theme = signal<Theme>(document.documentElement.dataset["theme"] === "dark" ? "dark" : "light");

function show(next: Theme): void {
  document.documentElement.dataset["theme"] = next;
  theme.value = next;
}

export function switchTheme(): void {
  const next = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(place, next);
  show(next);
}

// The system goes from day to night; anyone who has chosen keeps the choice.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({ matches }) => {
  if (localStorage.getItem(place) === null) show(matches ? "dark" : "light");
});
