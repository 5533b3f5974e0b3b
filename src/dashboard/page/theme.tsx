/** Light or dark: follows the system by default, and the switch overrides it. */

import type { JSX } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

const KEY = "nudge.theme";
const words = { system: "Auto", light: "Light", dark: "Dark" } as const;
type Theme = keyof typeof words;
const choices = Object.keys(words) as Theme[];

/** A button that cycles through the choices. */
export function ThemeSwitch(): JSX.Element {
  const [theme, setTheme] = useState(choices.find((choice) => choice === localStorage.getItem(KEY)) ?? "system");
  useLayoutEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  const next = (): void => {
    const chosen = choices[(choices.indexOf(theme) + 1) % choices.length];
    localStorage.setItem(KEY, chosen);
    setTheme(chosen);
  };
  return (
    <button class="quiet" type="button" title="Light, dark, or the setting of the system" onClick={next}>
      <span class="visually-hidden">Theme: </span>
      <span class="theme-mark" aria-hidden="true" />
      <span>{words[theme]}</span>
    </button>
  );
}
