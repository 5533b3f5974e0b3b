/** The averaging followers there are; a new one is a file and a line here. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import type { FollowerDefinition } from "./follower.js";
import { movingAverage } from "./moving-average.js";
import { swad } from "./swad.js";
import { wiseFt } from "./wise-ft.js";

export type { AverageSummary, Follower, FollowerDefinition, FollowerState, NamedTensors } from "./follower.js";
export { defineFollower } from "./follower.js";
export { movingAverage, swad, wiseFt };

/** Followers by id. */
export const followers: Readonly<Record<string, FollowerDefinition>> = Object.fromEntries(
  [swad, movingAverage, wiseFt].map((definition) => [definition.id, definition as FollowerDefinition]),
);

/** The follower of this id; an unknown one is an error that names the nearest. */
export function followerNamed(id: string): FollowerDefinition {
  if (!Object.hasOwn(followers, id)) throw new UsageError(unknownName("averaging", id, Object.keys(followers)));
  return followers[id];
}
