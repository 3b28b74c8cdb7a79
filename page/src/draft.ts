// The draft of a Dota match: its bans and picks.

import type { Entity } from "@replayd/client";
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

/** What a demo says of a choice at its end. */
interface Known {
  isPick: boolean;
  team: number;
  heroId: number;
  heroName?: string;
}

/** The texts of the news about choices. */
export const chosen = { ban: "was banned", pick: "was picked" } as const;

/** A hero's name without the prefixes, case and underscores, in which a game's spellings of the name differ. */
export const bare = (name: string) => name.replace(/^(CDOTA_Unit_Hero_|npc_dota_hero_)/, "").replaceAll("_", "").toLowerCase();

/** Names such as "npc_dota_badguys_tower1_mid" and "DragonKnight" as readable words. */
export function words(name: string): string {
  const text = name.replace(/^(CDOTA_Unit_Hero_|npc_dota_hero_|npc_dota_|item_|modifier_|C(DOTA_Base)?NPC_)/, "").replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ");
  return text.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()).replace("Goodguys", "Radiant").replace("Badguys", "Dire");
}

/** The name of a hero in words. A new one may be known only by its number. */
export const heroName = (name: string | undefined, number: number) => (name ? words(name) : `Hero ${number}`);

/**
 * The draft in its order. A demo says at its end who chose, and its news say when. Either may be missing: a demo that was cut off has no end,
 * and in one that began later nothing was chosen.
 */
export function draftOf(known: readonly Known[], news: readonly News[]): Choice[] {
  const seen = news.filter(({ kind }) => kind === "draft").map(({ name, text, tick }): Choice => ({ hero: name ?? "", pick: text === chosen.pick, team: 0, tick }));
  const choices = known.filter(({ heroId, heroName }) => heroId > 0 || (heroName ?? "") !== "").map(({ isPick, team, heroId, heroName: name }): Choice => {
    const hero = heroName(name, heroId);
    return { hero, pick: isPick, team: team === 2 || team === 3 ? team : 0, tick: seen.find((one) => one.hero === hero && one.pick === isPick)?.tick };
  });
  return [...choices, ...seen.filter(({ hero, pick }) => !choices.some((one) => one.hero === hero && one.pick === pick))];
}

/** Watches the rules of a game for bans and picks. */
export class Drafting {
  /** The fields that are known to be set. Undefined before the first look. */
  private known: Set<string> | undefined;

  /** Returns news of the heroes that were chosen since the last look. Those of the first look were chosen before. */
  look(rules: Entity, tick: number): News[] {
    const first = this.known === undefined;
    const known = (this.known ??= new Set());
    const news: News[] = [];
    for (const [list, text] of [["m_BannedHeroes", chosen.ban], ["m_SelectedHeroes", chosen.pick]] as const) {
      for (let i = 0; i < 24; i++) {
        const field = `m_pGameRules.${list}.${String(i).padStart(4, "0")}`;
        const id = Number(rules.get(field) ?? 0);
        if (id <= 0 || known.has(field)) continue;
        known.add(field);
        if (!first) news.push({ tick, kind: "draft", client: -1, name: heroName(rules.names.get(field), id), text });
      }
    }
    return news;
  }
}
