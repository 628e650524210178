/** Light, dark, or as the system says. Kept for the next visit. */

const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const KEY = "turnlog-theme";

export function keptTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return themes.find((theme) => theme === kept) ?? "system";
}

export function setTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  localStorage.setItem(KEY, theme);
}

export function nextTheme(theme: Theme): Theme {
  return themes[(themes.indexOf(theme) + 1) % themes.length] ?? "system";
}
