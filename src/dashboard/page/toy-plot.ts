/** The plane of the toy task: its points, the two boundaries, and the side that ERM-NU calls class 1, shaded. */

import { clipToHalfPlane, lineInBox } from "../../drawing/half-plane.js";
import type { ToyClassifier, ToyEvents } from "../api.js";
import { h, s, setAttribute } from "./dom.js";

/** The plane from −1.08 to 1.08 both ways, in units of the drawing. */
const EDGE = 1.08;
const SIZE = 440;
const box = { x0: -EDGE, x1: EDGE, y0: -EDGE, y1: EDGE };
const px = (x: number): string => ((SIZE * (x + EDGE)) / (2 * EDGE)).toFixed(1);
const py = (y: number): string => ((SIZE * (EDGE - y)) / (2 * EDGE)).toFixed(1);

export class ToyPlot {
  private readonly shade = s("polygon", { class: "shade" });
  private readonly points = s("g", { class: "points" });
  private readonly erm = s("line", { class: "boundary", vars: { "--c": "var(--s1)" } });
  private readonly nu = s("line", { class: "boundary strong", vars: { "--c": "var(--s0)" } });
  private readonly svg = s(
    "svg",
    { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": "Training points and the boundaries of both models" },
    this.shade,
    s("line", { class: "axis", x1: px(-EDGE), x2: px(EDGE), y1: py(0), y2: py(0) }),
    s("line", { class: "axis", x1: px(0), x2: px(0), y1: py(-EDGE), y2: py(EDGE) }),
    this.points,
    this.erm,
    this.nu,
    s("text", { x: SIZE - 8, y: Number(py(0)) - 7, "text-anchor": "end" }, "x₁"),
    s("text", { x: Number(px(0)) + 7, y: 17 }, "x₂"),
  );
  readonly root = h(
    "figure",
    { class: "toy-plot" },
    this.svg,
    h(
      "figcaption",
      { class: "soft" },
      "Across x₁, up x₂. Dots are of class 1, squares of the other; shaded is what ERM-NU takes for class 1.",
    ),
  );

  setPoints(points: ToyEvents["start"]["points"]): void {
    const size = points.length > 300 ? 2.2 : 3.6;
    this.points.replaceChildren(
      ...points.map(([x, y, label]) =>
        label > 0
          ? s("circle", { class: "one", cx: px(x), cy: py(y), r: size })
          : s("rect", {
              class: "other",
              x: Number(px(x)) - size,
              y: Number(py(y)) - size,
              width: 2 * size,
              height: 2 * size,
            }),
      ),
    );
  }

  show(erm: ToyClassifier, nu: ToyClassifier): void {
    place(this.erm, erm);
    place(this.nu, nu);
    const corners = clipToHalfPlane(box, nu);
    this.shade.setAttribute("points", corners.map(({ x, y }) => `${px(x)},${py(y)}`).join(" "));
  }
}

function place(line: SVGLineElement, classifier: ToyClassifier): void {
  const ends = lineInBox(box, classifier);
  setAttribute(line, "visibility", ends ? "visible" : "hidden");
  if (!ends) return;
  const [a, b] = ends;
  for (const [name, value] of Object.entries({ x1: px(a.x), y1: py(a.y), x2: px(b.x), y2: py(b.y) }))
    line.setAttribute(name, value);
}
