// The state of a game of StarCraft II, which the events of a replay add up to.
import { clone, create } from "@bufbuild/protobuf";
import { PlayerStateSchema, UnitStateSchema, UpgradeSchema, } from "../gen/replayd/sc2replay/v1/events_pb.js";
/**
 * What is known of a game where a stream is: the units that are alive, and the players' economy and upgrades. The stream must
 * begin at the replay's beginning, or with the state at the place where it begins. What it returns belongs to it: it goes on
 * changing it.
 */
export class GameState {
    /** The kinds of events that it needs. Those of a state come beside them, with `withState`. */
    static kinds = [
        "player_setup", "player_stats", "upgrade", "unit_born", "unit_init", "unit_done", "unit_died", "unit_owner_change",
        "unit_type_change", "unit_positions",
    ];
    // By index, which a tag begins with: one unit at a time is there.
    byIndex = new Map();
    byNumber = new Map();
    /** Takes an event; those of other kinds change nothing. */
    apply(event) {
        const { kind } = event.event;
        const tick = event.tick;
        switch (kind.case) {
            case "playerState":
                // A teehistorian file has a kind of this name, too.
                if (kind.value.$typeName === "replayd.sc2replay.v1.PlayerState") {
                    this.byNumber.set(kind.value.playerId, clone(PlayerStateSchema, kind.value));
                }
                break;
            case "playerSetup":
                this.known(kind.value.playerId).setup = kind.value;
                break;
            case "playerStats":
                Object.assign(this.known(kind.value.playerId), { stats: kind.value, statsTick: tick });
                break;
            case "upgrade": {
                const player = this.known(kind.value.playerId);
                const had = player.upgrades.find((upgrade) => upgrade.upgradeTypeName === kind.value.upgradeTypeName);
                if (had)
                    had.count += kind.value.count;
                else
                    player.upgrades.push(clone(UpgradeSchema, kind.value));
                break;
            }
            case "unitState":
                this.put(clone(UnitStateSchema, kind.value));
                break;
            case "unitBorn":
            case "unitInit": {
                const { unit, controlPlayerId, upkeepPlayerId, x, y } = kind.value;
                const made = kind.case === "unitBorn" ? { creator: kind.value.creator, creatorAbilityName: kind.value.creatorAbilityName } : {};
                const since = { placeTick: tick, appearedTick: tick, typeTick: tick, underConstruction: kind.case === "unitInit" };
                this.put(create(UnitStateSchema, { unit, controlPlayerId, upkeepPlayerId, x, y, ...since, ...made }));
                break;
            }
            case "unitDone":
                this.change(kind.value.unit, { underConstruction: false });
                break;
            case "unitDied":
                if (this.alive(kind.value.unit))
                    this.byIndex.delete(index(kind.value.unit.tag));
                break;
            case "unitOwnerChange":
                this.change(kind.value.unit, { controlPlayerId: kind.value.controlPlayerId, upkeepPlayerId: kind.value.upkeepPlayerId });
                break;
            case "unitTypeChange":
                this.change(kind.value.unit, { unit: kind.value.unit, typeTick: tick });
                break;
            case "unitPositions":
                for (const { unit, x, y } of kind.value.positions)
                    this.change(unit, { x, y, placeTick: tick });
                break;
        }
    }
    /** The unit that has a tag; undefined when none has that is alive. */
    unit(tag) {
        const unit = this.byIndex.get(index(tag));
        return unit?.unit?.tag === tag ? unit : undefined;
    }
    /** The units that are alive, or those of them that a player controls, by ascending index. Player 0 is neutral. */
    units(player) {
        const all = [...this.byIndex].sort(([a], [b]) => a - b).map(([, unit]) => unit);
        return player === undefined ? all : all.filter((unit) => unit.controlPlayerId === player);
    }
    /** A player's economy and upgrades; undefined before any event of the player. */
    player(number) {
        return this.byNumber.get(number);
    }
    /** All players of whom there was an event, by ascending number. */
    players() {
        return [...this.byNumber.values()].sort((a, b) => a.playerId - b.playerId);
    }
    put(unit) {
        if (unit.unit)
            this.byIndex.set(index(unit.unit.tag), unit);
    }
    alive(named) {
        return named && this.unit(named.tag);
    }
    change(named, to) {
        const unit = this.alive(named);
        if (unit)
            Object.assign(unit, to);
    }
    known(playerId) {
        let player = this.byNumber.get(playerId);
        if (!player)
            this.byNumber.set(playerId, (player = create(PlayerStateSchema, { playerId })));
        return player;
    }
}
/** The place in the game's list of units that a tag begins with. */
const index = (tag) => tag >>> 18;
