// The draft of a Dota match: its bans and picks.

import type { Event } from "@replayd/client";
import type { DraftPick, FieldValue } from "@replayd/client/gen/replayd/dem/v1/events_pb.js";
import type { News } from "./format.js";

/** A hero that was picked or banned. */
export interface Choice {
  /** The hero's name in words. */
  hero: string;
  pick: boolean;
  /** 2 for the Radiant, 3 for the Dire, 0 if the demo does not say. */
  team: number;
  /** When it was chosen, if the demo has it. */
  tick: number | undefined;
}

/** The texts of the news about choices. */
export const chosen = { ban: "was banned", pick: "was picked" } as const;

/** Names such as "npc_dota_badguys_tower1_mid" and "DragonKnight" as readable words. */
export function words(name: string): string {
  const text = name.replace(/^(CDOTA_Unit_Hero_|npc_dota_hero_|npc_dota_|hero_|item_|weapon_|upgrade_|modifier_|C(DOTA_Base)?NPC_)/, "").replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ");
  return text.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()).replace("Goodguys", "Radiant").replace("Badguys", "Dire");
}

/** The name of a hero in words. A new one may be known only by its number. */
export const heroName = (name: string | undefined, number: number) => (name ? words(name) : `Hero ${number}`);

/**
 * The draft in its order. A demo says at its end who chose, and its news say when. Either may be missing: a demo that was cut off has no end,
 * and in one that began later nothing was chosen.
 */
export function draftOf(known: readonly DraftPick[], news: readonly News[]): Choice[] {
  const seen = news.filter(({ kind }) => kind === "draft").map(({ name, text, tick }): Choice => ({ hero: name ?? "", pick: text === chosen.pick, team: 0, tick }));
  const choices = known.filter(({ heroId, heroName }) => heroId > 0 || (heroName ?? "") !== "").map(({ isPick, team, heroId, heroName: name }): Choice => {
    const hero = heroName(name, heroId);
    return { hero, pick: isPick, team: team === 2 || team === 3 ? team : 0, tick: seen.find((one) => one.hero === hero && one.pick === isPick)?.tick };
  });
  return [...choices, ...seen.filter(({ hero, pick }) => !choices.some((one) => one.hero === hero && one.pick === pick))];
}

/** The fields of a game's rules that have who was banned and picked. */
export const draftFields = ["m_pGameRules.m_BannedHeroes.*", "m_pGameRules.m_SelectedHeroes.*"];

/** The news of heroes that were chosen, of the fields that changed. */
export function drafted(fields: readonly FieldValue[], event: Event, tick: number): News[] {
  return fields.flatMap(({ field, name, value }): News[] => {
    const [, list] = /\.m_(Banned|Selected)Heroes\./.exec(event.string(field)) ?? [];
    const id = Number(value.value ?? 0);
    return list && id > 0 ? [{ tick, kind: "draft", client: -1, name: heroName(name, id), text: list === "Banned" ? chosen.ban : chosen.pick }] : [];
  });
}
