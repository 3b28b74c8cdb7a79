package datafile

// AirTile is the index of an empty tile.
const AirTile = 0

// TileName returns the name of a tile in a layer of the given kind, such as "solid", "freeze", "start" or "tele_in", or
// "" if it has none. index is the tile's index; in the tele, speedup, switch and tune layers it is the tile's type. The
// same index may have different meanings in different layers. Purely decorative tiles have no names. See
// docs/formats/datafile.md, "Tiles".
func TileName(kind LayerKind, index byte) string {
	switch kind {
	case LayerKindGame, LayerKindFront:
		return gameTiles[index]
	case LayerKindTele:
		return teleTiles[index]
	case LayerKindSpeedup:
		return speedupTiles[index]
	case LayerKindTune:
		return tuneTiles[index]
	case LayerKindSwitch:
		// Tiles that a switch controls are also in the switch layer, with their number from the game layer.
		if name := switchTiles[index]; name != "" {
			return name
		}
		return gameTiles[index]
	}
	return ""
}

// entities is the index of the first tile that stands for an object instead of a property of the cell.
const entities = 192

var teleTiles = [256]string{
	0:  "air",
	10: "tele_evil_in",
	14: "tele_weapon_in",
	15: "tele_hook_in",
	26: "tele_in",
	27: "tele_out",
	29: "tele_checkpoint",
	30: "tele_checkpoint_out",
	31: "tele_checkpoint_in",
	63: "tele_evil_checkpoint_in",
}

var speedupTiles = [256]string{
	0:  "air",
	28: "speedup_old_boost",
	29: "speedup_boost",
}

var tuneTiles = [256]string{
	0:  "air",
	68: "tune_zone",
}

var switchTiles = [256]string{
	0:  "air",
	7:  "switch_jump",
	22: "switch_timed_open",
	23: "switch_timed_close",
	24: "switch_open",
	25: "switch_close",
	79: "switch_add_time",
	95: "switch_subtract_time",
}

var gameTiles = [256]string{
	0:   "air",
	1:   "solid",
	2:   "death",
	3:   "unhookable",
	4:   "no_laser",
	5:   "hook_through_cut",
	6:   "hook_through",
	9:   "freeze",
	11:  "unfreeze",
	12:  "deep_freeze",
	13:  "deep_unfreeze",
	16:  "wall_jump",
	17:  "endless_hook_on",
	18:  "endless_hook_off",
	19:  "hit_others_on",
	20:  "hit_others_off",
	21:  "solo_on",
	22:  "solo_off",
	28:  "old_boost",
	32:  "refill_jumps",
	33:  "start",
	34:  "finish",
	35:  "checkpoint_1",
	36:  "checkpoint_2",
	37:  "checkpoint_3",
	38:  "checkpoint_4",
	39:  "checkpoint_5",
	40:  "checkpoint_6",
	41:  "checkpoint_7",
	42:  "checkpoint_8",
	43:  "checkpoint_9",
	44:  "checkpoint_10",
	45:  "checkpoint_11",
	46:  "checkpoint_12",
	47:  "checkpoint_13",
	48:  "checkpoint_14",
	49:  "checkpoint_15",
	50:  "checkpoint_16",
	51:  "checkpoint_17",
	52:  "checkpoint_18",
	53:  "checkpoint_19",
	54:  "checkpoint_20",
	55:  "checkpoint_21",
	56:  "checkpoint_22",
	57:  "checkpoint_23",
	58:  "checkpoint_24",
	59:  "checkpoint_25",
	60:  "stopper",
	61:  "stopper_two_way",
	62:  "stopper_all",
	64:  "old_cannon_boost",
	65:  "old_cannon_boost_fast",
	66:  "hook_through_all",
	67:  "hook_through_directional",
	71:  "old_laser",
	72:  "no_player_collision",
	73:  "old_endless_hook",
	74:  "no_hit",
	75:  "no_hook_others",
	76:  "unlock_team",
	88:  "player_collision_off",
	89:  "unlimited_jumps_off",
	90:  "jetpack_off",
	91:  "hook_others_off",
	96:  "tele_gun_on",
	97:  "tele_gun_off",
	98:  "allow_tele_gun",
	99:  "allow_blue_tele_gun",
	104: "player_collision_on",
	105: "unlimited_jumps_on",
	106: "jetpack_on",
	107: "hook_others_on",
	112: "tele_grenade_on",
	113: "tele_grenade_off",
	128: "tele_laser_on",
	129: "tele_laser_off",
	140: "credits_1",
	141: "credits_2",
	142: "credits_3",
	143: "credits_4",
	144: "live_freeze",
	145: "live_unfreeze",
	156: "credits_5",
	157: "credits_6",
	158: "credits_7",
	159: "credits_8",
	190: "entities_off_1",
	191: "entities_off_2",

	entities + 0:  "spawn",
	entities + 1:  "spawn_red",
	entities + 2:  "spawn_blue",
	entities + 3:  "flag_stand_red",
	entities + 4:  "flag_stand_blue",
	entities + 5:  "armor",
	entities + 6:  "health",
	entities + 7:  "shotgun",
	entities + 8:  "grenade",
	entities + 9:  "ninja",
	entities + 10: "laser",
	entities + 11: "laser_fast_ccw",
	entities + 12: "laser_normal_ccw",
	entities + 13: "laser_slow_ccw",
	entities + 14: "laser_stop",
	entities + 15: "laser_slow_cw",
	entities + 16: "laser_normal_cw",
	entities + 17: "laser_fast_cw",
	entities + 18: "laser_short",
	entities + 19: "laser_medium",
	entities + 20: "laser_long",
	entities + 21: "laser_close_slow",
	entities + 22: "laser_close_normal",
	entities + 23: "laser_close_fast",
	entities + 24: "laser_open_slow",
	entities + 25: "laser_open_normal",
	entities + 26: "laser_open_fast",
	entities + 28: "plasma_explosive",
	entities + 29: "plasma_freeze",
	entities + 30: "plasma",
	entities + 31: "plasma_unfreeze",
	entities + 32: "crazy_shotgun_explosive",
	entities + 33: "crazy_shotgun",
	entities + 34: "remove_shotgun",
	entities + 35: "remove_grenade",
	entities + 36: "remove_ninja",
	entities + 37: "remove_laser",
	entities + 41: "dragger_weak",
	entities + 42: "dragger_normal",
	entities + 43: "dragger_strong",
	entities + 44: "dragger_weak_through_walls",
	entities + 45: "dragger_normal_through_walls",
	entities + 46: "dragger_strong_through_walls",
	entities + 48: "door",
}
