// The state of a game of StarCraft II, which the events of a replay add up to.
import { clone, create } from "@bufbuild/protobuf";
import { PlayerStateSchema, UnitStateSchema, UpgradeSchema, } from "../gen/replayd/sc2replay/v1/events_pb.js";
/**
 * The state of a game after the events so far: the units alive, and the players' economy and upgrades. The stream must start at
 * the beginning of the replay, or with the state at its start position. The returned messages belong to the GameState, and apply
 * modifies them.
 */
export class GameState {
    /** The kinds of events that it needs. Those of a state come beside them, with `withState`. */
    static kinds = [
        "player_setup", "player_stats", "upgrade", "unit_born", "unit_init", "unit_done", "unit_died", "unit_owner_change",
        "unit_type_change", "unit_positions",
    ];
    // By index, the high bits of the tag. At most one unit alive has an index.
    byIndex = new Map();
    byNumber = new Map();
    /** Updates the state with an event. It ignores events of other kinds. */
    apply(event) {
        const { kind } = event.event;
        const tick = event.tick;
        switch (kind.case) {
            case "playerState":
                // Teehistorian files also have a kind of this name.
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
    /** The unit with a tag; undefined if no such unit is alive. */
    unit(tag) {
        const unit = this.byIndex.get(index(tag));
        return unit?.unit?.tag === tag ? unit : undefined;
    }
    /** The units alive, or those that a player controls, by ascending index. Player 0 is the neutral player. */
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
/** The index in the game's list of units, which is the high bits of a tag. */
const index = (tag) => tag >>> 18;
