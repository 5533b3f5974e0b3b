/** Light or dark: as the system has it, unless the switch says otherwise. */

import { h, setText } from "./dom.js";

const KEY = "nudge.theme";
const choices = ["system", "light", "dark"] as const;
type Theme = (typeof choices)[number];

const words: Readonly<Record<Theme, string>> = { system: "Auto", light: "Light", dark: "Dark" };

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return choices.find((choice) => choice === value) ?? "system";
}

function apply(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** A button that goes through the choices. */
export function themeSwitch(): HTMLElement {
  let theme = stored();
  apply(theme);
  const label = h("span", {}, words[theme]);
  const button = h(
    "button",
    {
      class: "quiet",
      type: "button",
      title: "Light, dark, or as the system has it",
      on: {
        click: () => {
          theme = choices[(choices.indexOf(theme) + 1) % choices.length];
          localStorage.setItem(KEY, theme);
          apply(theme);
          setText(label, words[theme]);
        },
      },
    },
    h("span", { class: "visually-hidden" }, "Theme: "),
    h("span", { class: "theme-mark", "aria-hidden": "true" }),
    label,
  );
  return button;
}
