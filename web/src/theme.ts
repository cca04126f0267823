// A classic script before the style sheet, so that no page is painted in the wrong colours first.
{
  const chosen = localStorage.getItem("steward-theme");
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
}
