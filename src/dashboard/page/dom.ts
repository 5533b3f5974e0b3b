/** Making elements. Text is always text: nothing that was read from disk is ever taken for markup. */

export type Child = Node | string | number | null | undefined | false;

type Handlers = { readonly [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };

export interface Attributes {
  readonly class?: string;
  readonly on?: Handlers;
  /** Custom properties of the style, such as `--share`. */
  readonly vars?: Readonly<Record<string, string | number>>;
  readonly [name: string]: unknown;
}

function fill<E extends HTMLElement | SVGElement>(element: E, attributes: Attributes, children: readonly Child[]): E {
  const { on = {}, vars = {}, ...rest } = attributes;
  for (const [name, value] of Object.entries(rest)) setAttribute(element, name, value);
  for (const [name, value] of Object.entries(vars)) element.style.setProperty(name, String(value));
  for (const [name, handler] of Object.entries(on)) element.addEventListener(name, handler as EventListener);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map(asNode));
  return element;
}

const asNode = (child: Child): Node | string => (child instanceof Node ? child : String(child));

/** Sets an attribute; `false`, null and undefined take it away, `true` leaves it without a value. */
export function setAttribute(element: Element, name: string, value: unknown): void {
  if (value === false || value === null || value === undefined) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** An HTML element. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Sets the text of an element only where it changes, so that a selection in it is not lost. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Sentences with `code` in backticks, as elements. */
export function inWords(text: string): Child[] {
  return text.split("`").map((part, i) => (i % 2 === 1 ? h("code", {}, part) : part));
}
