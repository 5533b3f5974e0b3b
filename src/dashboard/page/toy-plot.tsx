/** The plane of the toy task: the points, the two boundaries, and a shaded area where ERM-NU predicts class 1. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { clipToHalfPlane, lineInBox } from "../../drawing/half-plane.js";
import type { ToyClassifier, ToyEvents } from "../api.js";
import { colored } from "./view.js";

/** The plane from −1.08 to 1.08 in both directions, in units of the drawing. */
const EDGE = 1.08;
const SIZE = 440;
const box = { x0: -EDGE, x1: EDGE, y0: -EDGE, y1: EDGE };
const px = (x: number): string => ((SIZE * (x + EDGE)) / (2 * EDGE)).toFixed(1);
const py = (y: number): string => ((SIZE * (EDGE - y)) / (2 * EDGE)).toFixed(1);

type Points = ToyEvents["start"]["points"];

interface PlotProps {
  readonly points: Points;
  readonly erm?: ToyClassifier;
  readonly nu?: ToyClassifier;
}

export function ToyPlot({ points, erm, nu }: PlotProps): JSX.Element {
  const marks = useMemo(() => <Marks points={points} />, [points]);
  const corners = nu ? clipToHalfPlane(box, nu) : [];
  return (
    <figure class="toy-plot">
      <svg viewBox={`0 0 ${SIZE} ${SIZE}`} role="img" aria-label="Training points and the boundaries of both models">
        <polygon class="shade" points={corners.map(({ x, y }) => `${px(x)},${py(y)}`).join(" ")} />
        <line class="axis" x1={px(-EDGE)} x2={px(EDGE)} y1={py(0)} y2={py(0)} />
        <line class="axis" x1={px(0)} x2={px(0)} y1={py(-EDGE)} y2={py(EDGE)} />
        {marks}
        <Boundary kind="boundary" color={1} of={erm} />
        <Boundary kind="boundary strong" color={0} of={nu} />
        <text x={SIZE - 8} y={Number(py(0)) - 7} text-anchor="end">
          x₁
        </text>
        <text x={Number(px(0)) + 7} y={17}>
          x₂
        </text>
      </svg>
      <figcaption class="soft">
        Horizontal axis: x₁; vertical axis: x₂. Dots: class 1; squares: the other class; shaded: where ERM-NU predicts
        class 1.
      </figcaption>
    </figure>
  );
}

function Marks({ points }: { points: Points }): JSX.Element {
  const size = points.length > 300 ? 2.2 : 3.6;
  return (
    <g class="points">
      {points.map(([x, y, label], i) =>
        label > 0 ? (
          <circle key={i} class="one" cx={px(x)} cy={py(y)} r={size} />
        ) : (
          <rect
            key={i}
            class="other"
            x={Number(px(x)) - size}
            y={Number(py(y)) - size}
            width={2 * size}
            height={2 * size}
          />
        ),
      )}
    </g>
  );
}

function Boundary({ kind, color, of }: { kind: string; color: number; of?: ToyClassifier }): JSX.Element {
  const ends = of && lineInBox(box, of);
  const [a, b] = ends ?? [];
  const place = a && b ? { x1: px(a.x), y1: py(a.y), x2: px(b.x), y2: py(b.y) } : {};
  return <line class={kind} style={colored(color)} visibility={ends ? "visible" : "hidden"} {...place} />;
}
