/**
 * Repeating patterns: the seven wallpapers behind the shapes, and the three textures on them.
 *
 * A pattern is computed from triangle waves along x and y. Each returns the fraction of the second color, which is ½ on
 * the border between the colors, and `sharpen` turns that into an edge one pixel wide, so that patterns are as smooth
 * as the shapes.
 */

/** A triangle wave of period 1: 1 at integers, 0 halfway between. */
export function wave(position: number): number {
  return Math.abs(2 * (position - Math.floor(position)) - 1);
}

/** An edge one pixel wide around the value ½, for a pattern that repeats every `period` pixels. */
export function sharpen(value: number, period: number): number {
  return Math.min(Math.max(0.5 + (value - 0.5) * (period / 2), 0), 1);
}

/** The fraction of the second color, from the horizontal and vertical waves and the vertical position in periods. */
export type Pattern = (across: number, down: number, position: number) => number;

const checks: Pattern = (across, down) => Math.max(Math.min(across, down), Math.min(1 - across, 1 - down));

const dots: Pattern = (across, down) => 1.15 - Math.sqrt((1 - across) * (1 - across) + (1 - down) * (1 - down));

const bars: Pattern = (_, down) => down;

/**
 * The seven wallpapers. Each is still recognizable after a flip, a crop or a conversion to grayscale, so common
 * augmentations do not remove the cue.
 */
export const wallpapers: readonly Pattern[] = [
  () => 0, // plain
  bars,
  (across) => across, // columns
  checks,
  dots,
  (across, down) => Math.max(across, down) - 0.2, // a grid
  (across, _, position) => wave(position + 0.6 * across), // zigzags
];

/** The textures of the shapes in the textured domain. */
export const textures: readonly Pattern[] = [bars, checks, dots];
