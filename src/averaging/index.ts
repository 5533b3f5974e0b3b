/** The averaging followers. To add one, add a file and a line here. */

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

/** Returns the follower with this id. For an unknown id, the error suggests the closest one. */
export function followerNamed(id: string): FollowerDefinition {
  if (!Object.hasOwn(followers, id)) throw new UsageError(unknownName("averaging", id, Object.keys(followers)));
  return followers[id];
}
